"""The stock proxies themselves, a file each."""
