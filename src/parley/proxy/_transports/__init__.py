"""How a proxy speaks to both of its ends on one pipe: `proxy/successor` and its beginnings."""
