"""Integrations with other tools: each module needs its tool, an extra, and a separate import."""
