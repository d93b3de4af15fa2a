"""`callboard models`: which models could be used here, and what is missing for the others."""

import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from callboard.cli.exits import DONE
from callboard.cli.flags import AsJson, ConfigPath
from callboard.cli.output import print_json, print_table, print_text

if TYPE_CHECKING:
    from callboard.models.offers import Offer

EXAMPLES = """\
Examples:
  callboard models
  callboard models --json
"""


def list_models(*, json: AsJson = False, config: ConfigPath = None) -> int:
    """The models that --model takes: configured, embedded, and of providers, with what is missing."""
    from callboard.config import load  # noqa: PLC0415 - pydantic
    from callboard.models import choose  # noqa: PLC0415 - for this command only
    from callboard.models.offers import offers  # noqa: PLC0415

    models = load(config).models
    choice = choose(None, models.default, os.environ, models.named)
    found = offers(models.named, os.environ)
    if json:
        print_json([asdict(offer) | {"ready": offer.code is None} for offer in found])
        return DONE
    print_table(("model", "can be used"), [(offer.name, _shown(offer)) for offer in found])
    print_text(f"\nA run that names none: {choice}")
    return DONE


def _shown(offer: "Offer") -> str:
    return offer.missing or ("yes" if offer.hint is None else f"yes, {offer.hint}")
