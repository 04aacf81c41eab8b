"""What may come in and what may go out: cleaning, masking, the output gate, grounding and claims."""
