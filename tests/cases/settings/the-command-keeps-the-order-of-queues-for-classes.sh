# The command keeps the order of queues for classes.
# numbers: The first two of three classes are lossless.
$ shallows settings write classes --sonic --queues 1,5,3
$ shallows settings write shipped-settings --sonic --queues 4,3,3
