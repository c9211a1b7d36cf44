"""sktvbo within other tools: each module needs its tool, an extra, and is imported by itself."""
