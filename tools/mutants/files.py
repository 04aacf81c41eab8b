"""The files that decide, each with the tests that judge it: all in one process, without the running demo."""

from types import MappingProxyType


def _tests(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/{name}.py" for name in names)


TESTS = MappingProxyType(
    {
        # Rights
        "bot/cases/buttons.py": _tests(
            *(
                "cases/test_button_table",
                "contracts/test_buttons_document",
                "handlers/test_staff",
                "handlers/test_dialogs",
            ),
            *("turns/test_stale_buttons", "turns/test_staff_interactions", "turns/test_customer_interactions"),
            "drafts/test_drafts",
        ),
        "bot/cases/staff.py": _tests("cases/test_staff", "handlers/test_desks"),
        "bot/desk/identity.py": _tests("handlers/test_desks", "handlers/test_home"),
        "bot/turns/interactions/customers.py": _tests("turns/test_customer_interactions"),
        "bot/turns/interactions/staff.py": _tests(
            "turns/test_staff_interactions", "turns/test_stale_buttons", "turns/test_moving_cases"
        ),
        # Budgets
        "bot/desk/budgets.py": _tests("desk/test_budgets", "turns/test_too_fast"),
        "bot/store/limits.py": _tests("store/test_limits", "turns/test_upkeep", "slack/test_rate_limiter"),
        "bot/store/spending.py": _tests(
            "store/test_spending", "desk/test_budgets", "turns/test_costs", "turns/test_danger_check"
        ),
        # Policy
        "bot/actions/checking.py": _tests("actions/test_checking", "desk/test_changes"),
        "bot/actions/deciding.py": _tests(
            *("actions/test_deciding", "desk/test_changes", "actions/test_after_the_offer"),
            *("actions/test_together", "actions/test_executing", "actions/test_machine"),
        ),
        "bot/actions/policy.py": _tests("actions/test_policy", "actions/test_policy_file"),
        "bot/desk/policy.py": _tests("desk/test_policy", "desk/test_topics"),
        # Gates
        "bot/guard/claimed_actions.py": _tests(
            "guard/test_claims", "guard/test_claimed_actions", "guard/test_claim_patterns"
        ),
        "bot/guard/claims.py": _tests("guard/test_claims", "guard/test_claimed_actions", "guard/test_grounding"),
        "bot/guard/grounding.py": _tests("guard/test_grounding", "guard/test_image_numbers", "guard/test_guardrails"),
        "bot/guard/guardrails.py": _tests("guard/test_guardrails", "guard/test_grounding"),
        "bot/ingest/admission.py": _tests("ingest/test_admission"),
        "bot/turns/ownership.py": _tests("turns/test_ownership"),
        # Steps of a case
        "bot/cases/case.py": _tests(
            *("cases/test_case", "cases/test_cases", "cases/test_sla"),
            *("turns/test_stale_buttons", "cases/test_machine"),
        ),
        "bot/cases/sla.py": _tests("cases/test_sla"),
        "bot/cases/step.py": _tests("cases/test_cases", "turns/test_moving_cases"),
        # Outbox
        "bot/slack/outbox.py": _tests(
            *("slack/test_sending_rows", "slack/test_outbox", "cases/test_files", "slack/test_files"),
            "turns/test_silence",
        ),
        "bot/store/outbox.py": _tests(
            *("store/test_outbox_rows", "slack/test_outbox", "turns/test_journal", "turns/test_stale_buttons"),
            *("turns/test_edits", "turns/test_erasure", "cases/test_transcripts"),
        ),
        # Stream
        "bot/slack/stream.py": _tests(
            "slack/test_stream",
            "slack/test_stream_silence",
            "slack/test_stream_property",
            "slack/test_stream_in_workspace",
        ),
        "bot/slack/stream_record.py": _tests("slack/test_stream", "slack/test_stream_silence", "turns/test_journal"),
        "bot/slack/stream_text.py": _tests("slack/test_stream_text", "slack/test_stream"),
        # Limits of the loop
        "bot/agent/loop.py": _tests("agent/test_loop", "agent/test_limits", "agent/test_resuming"),
        "bot/agent/patience.py": _tests("agent/test_late_loop", "agent/test_waiting"),
        "bot/agent/toolcalls.py": _tests(
            *("agent/test_ledger", "agent/test_limits", "agent/test_loop", "agent/test_tools"),
            *("agent/test_resuming", "agent/test_probes", "agent/test_waiting"),
        ),
    }
)
