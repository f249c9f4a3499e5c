"""What each task is and does, and examples that work: the prose of the help."""

from dataclasses import dataclass

from seqloom.spec.names import TASKS


@dataclass(frozen=True)
class Lesson:
    """A task for someone who meets it for the first time."""

    summary: str
    reads: str
    paragraph: str
    file: str  # a name that such a file may have
    option: str  # that one would try
    more: str  # files of other parts


LESSONS: dict[str, Lesson] = {
    "language": Lesson(
        "foretell the next token of a text, and so write texts like it",
        "plain text",
        "Learns to foretell the next token of a text from those before it, and so to write texts like it. Reads plain "
        "text; the last tenth is kept back to choose the best model by. It is measured in perplexity: among how many "
        "equally likely tokens the model hesitates. The run can be asked for texts with `seqloom generate`.",
        "corpus.txt",
        "--model transformer",
        "'books/*.txt' --data.tokeniser bpe",
    ),
    "classify": Lesson(
        "choose a label for a text",
        "CSV, TSV, JSONL, or a folder with a file a class",
        "Learns to choose a label for a text (or several). Reads CSV, TSV or JSONL, whose columns are guessed and "
        "shown, or a folder with a file or a sub-folder a class; a tenth is kept back to choose the best model by. It "
        "is measured in accuracy and F1. The run answers with `seqloom predict`.",
        "reviews.csv",
        "--data.text review --data.label stars",
        "train.tsv --valid dev.tsv --test test.tsv",
    ),
    "tag": Lesson(
        "give each word of a sentence its tag",
        "CoNLL-U, or a word and its tag a line",
        "Learns to give each word of a sentence its tag: a part of speech, or the beginning and inside of a name. "
        "Reads CoNLL-U, or files with a word and its tag a line and a blank line between sentences. It sees words and "
        "the characters that they are made of. It is measured in accuracy, and in F1 of whole spans for tags such as "
        "B-PER. The run answers with `seqloom predict`.",
        "train.conllu",
        "--model.crf",
        "train.conllu --valid dev.conllu --data.tag xpos",
    ),
}

NOTES = {
    "train": "Writes a run: a folder with the model, its config, scores and a report. Nothing is ever written over. "
    "Stop it with Ctrl-C at any moment; `seqloom resume` goes on where it was.",
    "check": "Reads the data as training would, and says what is odd about it, with file and line, before you train.",
    "init": "Writes a commented experiment.toml with every key of this task, to edit and train with "
    "`seqloom train --config experiment.toml`. It never writes over a file.",
}


def taught(name: str, task: str | None, summary: str) -> str:
    """The help of a command: on one task, or on all of them. A paragraph behind \\b keeps its lines."""
    if task not in LESSONS:
        told = [(f"  {task:<10}{LESSONS[task].summary}", f"{'':12}reads {LESSONS[task].reads}") for task in TASKS]
        lines = "\n".join(line for both in told for line in both)
        examples = "\n".join(f"  $ seqloom {name} {task} {LESSONS[task].file}" for task in TASKS)
        more = f"`seqloom {name} TASK --help` shows every option of a task, with its default there."
        return "\n\n".join([summary, NOTES[name], f"\b\nTasks:\n{lines}", f"\b\nExamples:\n{examples}", more])
    lesson = LESSONS[task]
    examples = "\n".join(f"  $ {line}" for line in example_lines(name, task, lesson))
    more = (
        "Every key of the config is an option, in any position; `none` unsets one that may be unset. The default in "
        "brackets is the one that it has for this task and this --model."
    )
    return "\n\n".join([lesson.paragraph, NOTES[name], f"\b\nExamples:\n{examples}", more])


def example_lines(name: str, task: str, lesson: Lesson) -> list[str]:
    """Commands to begin with."""
    start = f"seqloom {name} {task}"
    lines = [f"{start} {lesson.file}", f"{start} {lesson.file} {lesson.option}", f"{start} {lesson.more}"]
    if name == "train":
        lines.insert(0, f"{start:<40} # no file: an embedded corpus")
        lines.append(f"{start} {lesson.file} --dry-run")
    return lines
