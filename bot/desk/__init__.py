"""What the desk is: who answers, with which tools, under which rules."""
