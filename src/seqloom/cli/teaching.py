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
        "predict the next token of a text, and so write texts like it",
        "plain text",
        "Learns to predict the next token of a text from those before it, and so to write texts like it. Reads plain "
        "text; the last tenth is held back, to choose the best model by. The measure is perplexity: the number of "
        "equally likely tokens among which the model would be as unsure. The trained model writes with `seqloom "
        "generate`.",
        "corpus.txt",
        "--model transformer",
        "'books/*.txt' --data.tokeniser bpe",
    ),
    "classify": Lesson(
        "choose a label for a text",
        "CSV, TSV, JSONL, or a folder with one file per class",
        "Learns to choose a label for a text (or several). Reads CSV, TSV or JSONL, whose columns are guessed and "
        "shown, or a folder with one file or one sub-folder per class; a tenth is held back, to choose the best model "
        "by. The measures are accuracy and F1. The trained model labels texts with `seqloom predict`.",
        "reviews.csv",
        "--data.text review --data.label stars",
        "train.tsv --valid dev.tsv --test test.tsv",
    ),
    "tag": Lesson(
        "give each word of a sentence a tag",
        "CoNLL-U, or lines with a word and its tag",
        "Learns to give each word of a sentence a tag: its part of speech, or whether a name begins or continues "
        "there. Reads CoNLL-U, or files with a word and its tag on each line and a blank line between sentences. The "
        "model sees each word and the characters it is made of. The measures are accuracy and, for tags such as B-PER, "
        "F1 of whole names. The trained model tags sentences with `seqloom predict`.",
        "train.conllu",
        "--model.crf",
        "train.conllu --valid dev.conllu --data.tag xpos",
    ),
    "translate": Lesson(
        "turn a text into another, such as its translation",
        "TSV, CSV or JSONL pairs, or two text files line by line",
        "Learns to turn a text into another: its translation, its summary, its other spelling. Reads a table with a "
        "source and a target in each row, or two text files whose lines belong together. An encoder reads the source, "
        "a decoder writes and looks back at it (attention). The measures are BLEU and chrF, by sacreBLEU, and the "
        "share that is exactly right. The trained model translates with `seqloom predict`.",
        "pairs.tsv",
        "--model lstm --model.attention additive",
        "train.en train.de --valid val.en --valid val.de",
    ),
    "caption": Lesson(
        "describe a picture",
        "TSV, CSV or JSONL with an image's path and its caption",
        "Learns to describe pictures. Reads a table with the path of an image and a caption in each row (an image may "
        "have several), or paths of .npy grids of features that another network made. A small CNN makes regions of an "
        "image, and the decoder looks at them word by word. The measures are BLEU-1 to BLEU-4 and chrF, by sacreBLEU, "
        "and the share that is exactly right. The trained model describes images with `seqloom predict`.",
        "captions.tsv",
        "--data.image-size 96",
        "train.tsv --valid dev.tsv --data.on-bad-image skip",
    ),
}

NOTES = {
    "train": "Makes a run: a folder with the model, its config, its scores and a report. No file is ever overwritten. "
    "Stop it with Ctrl-C at any moment; `seqloom resume` continues where it was.",
    "check": "Reads the data as training would, and reports problems with file and line before you train. Options of "
    "`seqloom train` that have nothing to do with data are accepted too, and ignored.",
    "init": "Writes a commented experiment.toml with every key of this task, to edit and then train with "
    "`seqloom train --config experiment.toml`. It never overwrites a file.",
}


def taught(name: str, task: str | None, summary: str) -> str:
    """The help of a command: on one task, or on all of them. A paragraph behind \\b keeps its lines."""
    if task not in LESSONS:
        told = [(f"  {task:<10}{LESSONS[task].summary}", f"{'':12}reads {LESSONS[task].reads}") for task in TASKS]
        lines = "\n".join(line for both in told for line in both)
        examples = "\n".join(f"  $ seqloom {name} {task} {LESSONS[task].file}" for task in TASKS)
        more = f"`seqloom {name} TASK --help` shows the options of a task and their defaults."
        return "\n\n".join([summary, NOTES[name], f"\b\nTasks:\n{lines}", f"\b\nExamples:\n{examples}", more])
    lesson = LESSONS[task]
    examples = "\n".join(f"  $ {line}" for line in example_lines(name, task, lesson))
    more = (
        "Options may stand in any position; the value `none` turns off one that is optional. The default for this task "
        "is in brackets."
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
