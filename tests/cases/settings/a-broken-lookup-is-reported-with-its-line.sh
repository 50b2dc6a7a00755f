# A broken lookup is reported with its line.
$ cat > pg_profile_lookup.ini <<END
# PG lossless profiles.
# speed cable size xon xoff threshold xon_offset
100000 5m 1248 0 177632 -1 2288
100000 40m 1248 0 200000 -2 2288
100000 5m 1248 0
END
$ shallows settings read pg_profile_lookup.ini
$ sed -i -e '5c\100000 5 1248 0 177632 -1 2288' pg_profile_lookup.ini
$ shallows settings read pg_profile_lookup.ini
$ sed -i -e '5c\100000 5m 1248 0 177633 -1 2288' pg_profile_lookup.ini
$ shallows settings read pg_profile_lookup.ini
$ sed -i -e '5c\100000 300m x 0 177633 -1 2288' pg_profile_lookup.ini
$ shallows settings read pg_profile_lookup.ini
