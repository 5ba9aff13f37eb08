"""Pages for people: server-rendered, without anything from another host."""
