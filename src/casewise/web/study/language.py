"""In which of a study's languages somebody reads: as they chose, or as their browser asks."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from casewise.studies.design.languages import LANGUAGES, LanguageCode, Speech
from casewise.studies.running.rounds import Round
from casewise.web.security.cookies import read_cookie, set_cookie

__all__ = ["choose_language", "language_of", "page_language", "speech_of", "spoken_before"]

LANGUAGE_COOKIE = "casewise_language"


def language_of(request: Request, study: Round) -> LanguageCode:
    """The language that somebody chose, or else the first of theirs that the study has, or else the study's first."""
    languages = study.design.languages
    wanted = [read_cookie(request, LANGUAGE_COOKIE) or "", *asked(request)]
    return next((known for one in wanted for known in languages if known == one), languages[0])


def asked(request: Request) -> list[str]:
    """The browser's languages, the dearest first; weights are taken as they stand, for browsers send them in order."""
    header = request.headers.get("accept-language", "")[:200]
    return [part.partition(";")[0].strip()[:2].lower() for part in header.split(",")]


def page_language(request: Request, study: Round) -> LanguageCode | None:
    """What a rating is kept with: the page's language, where the study has several."""
    return language_of(request, study) if len(study.design.languages) > 1 else None


def speech_of(request: Request, study: Round) -> Speech:
    """Says things in the language of whoever asks."""
    return study.speech(language_of(request, study))


def choose_language(request: Request, response: Response, study: Round, wanted: str) -> None:
    """Keep a language in the browser, if the study has it."""
    if wanted in study.design.languages:
        set_cookie(request, response, LANGUAGE_COOKIE, wanted)


def spoken_before(request: Request) -> Speech:
    """For a page that says what went wrong: as the round's pages are, or else as the browser keeps or asks for."""
    study = request.app.state.rounds.get(request.url.path.removeprefix("/study/").partition("/")[0])
    if study is not None:
        return speech_of(request, study)
    wanted = [read_cookie(request, LANGUAGE_COOKIE) or "", *asked(request)]
    return Speech(next((known for one in wanted for known in LANGUAGES if known == one), "en"))
