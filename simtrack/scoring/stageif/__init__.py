"""The StageIF scheme: stages, cues, markers, obligations."""
