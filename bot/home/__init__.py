"""The Home tab and the `/frontdesk` command."""
