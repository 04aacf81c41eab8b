"""A stand-in for a warehouse that offers its tools by the Model Context Protocol, and misbehaves on demand."""
