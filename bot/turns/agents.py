"""The agents that answer, put together for one desk file."""

from collections.abc import Callable, Sequence

from bot.actions.preparing import Preparing
from bot.agent.agent import Team
from bot.agent.endpoints import Models
from bot.agent.tools import Tool
from bot.clock import Clock
from bot.desk.changes import change_tools
from bot.desk.escalate import CaseOpener
from bot.desk.own_words import OwnWords
from bot.desk.rewriting import SecondLook
from bot.desk.team import Layout, build_checker, build_lead, build_team
from bot.desk_file.model import DeskFile
from bot.guard.claim_patterns import Wording
from bot.language.sentences import Sentences
from bot.procedures.running import ProcedureRuns
from bot.shops.actions import Shop
from bot.turns.answers.asking import Agents
from knowledge.knowledge_base import KnowledgeBase


def build_agents(
    desk: DeskFile,
    *,
    knowledge: KnowledgeBase,
    second_look: SecondLook,
    sentences: Sentences,
    clock: Clock,
    cases: CaseOpener,
    shop: Shop | None,
    models: Models,
    wordings: Sequence[Wording],
    link_hosts: frozenset[str],
    own_words: OwnWords,
    layout: Layout,
    takes_apart: bool,
    checks: bool,
    preparing: Preparing | None = None,
    procedures: ProcedureRuns | None = None,
    more_tools: Sequence[Tool] = (),
    bounded: Callable[[Team], Team] = lambda team: team,
) -> Agents:
    """The agents. `preparing` lets them prepare changes of orders, and `bounded` limits what their tools may do.

    Raises ConfigurationError as `build_team`.
    """
    team = build_team(
        desk=desk,
        knowledge=knowledge,
        cases=cases,
        orders=shop,
        shipping=shop,
        layout=layout,
        changes=() if preparing is None else change_tools(preparing),
        more_tools=more_tools,
    )
    leads = takes_apart and len(team.agents) > 1
    return Agents(
        knowledge=knowledge,
        second_look=second_look,
        sentences=sentences,
        clock=clock,
        team=bounded(team),
        models=models,
        wordings=wordings,
        link_hosts=link_hosts,
        own_words=own_words,
        refused=desk.refuse,
        lead=build_lead(desk=desk, cases=cases) if leads else None,
        checker=build_checker(desk=desk) if checks else None,
        procedures=procedures,
        takes_apart=takes_apart,
    )
