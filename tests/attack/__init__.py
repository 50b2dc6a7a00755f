"""Attacks on everything that writes and reads files: kills, full disks, forged folders, hostile names."""
