"""What each button of customers and staff does. bot/cases/buttons.py has the table of buttons."""
