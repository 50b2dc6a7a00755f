# numbers: four messages between eight hosts of the base

Letters, a quotation mark and signs of names are kept as they are; a backslash is no part of a name.

$ cat > a.goal <<END
num_ranks 2
rank 0 {
𝄞: send 8b to 1
q"uote: send 8b to 1
@a@: send 8b to 1
ü: send 8b to 1
}
rank 1 { recv 8b from 0 recv 8b from 0 recv 8b from 0 recv 8b from 0 c: calc 5 }
END
$ shallows import a.goal --on star.toml --out out.toml
$ grep name out.toml
$ sed 's/@a@/back\\\\slash/' a.goal > b.goal
$ shallows import b.goal --on star.toml --out none.toml
$ ls
