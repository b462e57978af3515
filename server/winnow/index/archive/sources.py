"""Pull archives from the places that people name: files, folders and HTTPS addresses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from winnow.index.archive.download import Report, download, forget, host_of, is_url
from winnow.index.archive.manifest import KEY_VARIABLE, ArchiveRejected
from winnow.index.archive.pulled import Pulled, pull
from winnow.index.builder.folder_settings import Sources
from winnow.storage.database import DatabaseError, StoreDamaged
from winnow.storage.state_folder import User

SUFFIX = ".winnow"
DOWNLOADS = "downloads"


def pull_from(
    source: str,
    user: User,
    variant: str,
    environment: Mapping[str, str],
    report: Report,
    *,
    may_be_unsigned: bool = False,
) -> list[Pulled]:
    """Keep the archives of a place for this user. Raises ArchiveRejected if one cannot be used; its
    message names the place."""
    place = host_of(source) if is_url(source) else source
    try:
        if user.state is None:
            raise ArchiveRejected("this user has no folder for the state of programs")
        key = environment.get(KEY_VARIABLE) or None
        if is_url(source):
            files = [download(source, user.state / DOWNLOADS, environment, report)]
        else:
            files = _archives(Path(source))
        found = [pull(file, user, variant, key, may_be_unsigned=may_be_unsigned) for file in files]
        if is_url(source):
            forget(files[0])
        return found
    except OSError as error:
        raise ArchiveRejected(f"{place}: {error.strerror or error}") from error
    except (ArchiveRejected, StoreDamaged, DatabaseError) as error:
        raise ArchiveRejected(f"{place}: {error}") from error


def pull_for_new_index(sources: Sources, user: User, variant: str, report: Report) -> str:
    """Pull from all places, for the first build of an index; return what the user should know."""
    told = []
    for place in sources.places:
        try:
            found = pull_from(place, user, variant, sources.environment, report)
        except ArchiveRejected as error:
            told.append(f"index.source is not used: {error}")
            continue
        for one in found:
            at = f" of commit {one.manifest.commit[:12]}" if one.manifest.commit else ""
            where = host_of(place) if is_url(place) else place
            told.append(f"the index reuses an archive{at} from {where} ({one.manifest.created})")
    return "; ".join(told)


def _archives(place: Path) -> list[Path]:
    """Return the archives that a path means: one, or all of a folder, the oldest first."""
    if not place.is_dir():
        return [place]
    found = sorted(place.glob(f"*{SUFFIX}"), key=lambda file: (file.stat().st_mtime, file.name))
    if not found:
        raise ArchiveRejected(f"no file there ends with {SUFFIX}")
    return found
