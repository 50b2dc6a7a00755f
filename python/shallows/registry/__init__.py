"""What every key, column and number is, for people: the tables of the site, and `shallows explain`."""
