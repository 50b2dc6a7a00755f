What an import lacks.

$ shallows import one.cm --out out.toml
$ shallows import leaf-spine.topo --out out.toml
$ cat leaf-spine.topo > g.topo
$ shallows import leaf-spine.topo g.topo --on star.toml --out out.toml
$ cat > flows.dat <<END
hello world, this is no flow
END
$ shallows import flows.dat --on star.toml --out out.toml
$ shallows import one.cm none.topo --on star.toml --out out.toml
