"""True and false answers beside what they rest on: how many come through whole, and how many are withheld.

A file is a list of scenes. A scene has the day (`today`), what the customer wrote (`asked`), what tools returned
(`results`), passages (`passages`), words of staff (`staff`), earlier answers (`earlier_answers`); and by language
`true` answers, which that bears out, and `false` ones, which nothing does.
"""
