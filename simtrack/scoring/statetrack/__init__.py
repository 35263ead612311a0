"""The StateTrack scheme: probes of what a session still holds."""
