"""How a generation is searched: `questions` in, `keywords` and `vectors` asked, `fuse` ranks, `passages` come out."""
