/** Text of unknown origin made fit for one line of a terminal, a log or a label. */

// Terminal sequences: OSC/DCS/PM/APC strings with their payload, CSI, other escapes.
const ANSI =
	/(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?/g;
// Characters that show nothing and change how others show: zero width, bidi controls, tags, soft hyphen, BOM.
const INVISIBLE =
	/[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
const SPACE = /[\s\u0085]+/g;
const CONTROL = /[\x00-\x1f\x7f-\x9f]/g;
// What is not on a clean line of ASCII: most names and short texts have none of it.
const UNTIDY = /[^ -~]|^ | $| {2}/;

/** `text`, at most `max` UTF-16 units long; the last one is `…` when something was cut. No pair is cut in two. */
export function clip(text: string, max: number): string {
	if (text.length <= max) return text;
	const cut = text.slice(0, Math.max(0, max - 1));
	return `${cut.replace(/[\ud800-\udbff]$/, "")}…`;
}

/**
 * `text` on one line: terminal sequences, control, bidi and zero-width characters removed, runs of white space made
 * one space, clipped to `max` UTF-16 units.
 */
export function oneLine(text: string, max = 200): string {
	if (text.length <= max && !UNTIDY.test(text)) return text;
	// What will be cut is not looked at: a megabyte of text costs as little as a line.
	const head = text.length > max * 8 + 1000 ? text.slice(0, max * 8 + 1000) : text;
	const clean = head.replace(ANSI, "").replace(INVISIBLE, "").replace(SPACE, " ").replace(CONTROL, "").trim();
	return clip(head.length < text.length && clean.length < max ? `${clean}…` : clean, max);
}

// What changes how other text shows or hides text in it. Joiners stay: scripts and emoji need them.
const DECEIVING = /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

// Only whole sequences: in a long text an opening without an end must not swallow what follows.
const SEQUENCE = /\x1b[\]PX^_][^\x07\x1b\x9c\n]{0,4000}(?:\x07|\x1b\\|\x9c)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]?/g;

/** `text` with its lines and tabs, without terminal sequences, other control characters and bidi controls. */
export function plain(text: string): string {
	return text
		.replace(SEQUENCE, "")
		.replace(DECEIVING, "")
		.replace(/\r\n?|[\u0085\u2028\u2029]/g, "\n")
		.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "");
}

/** The short name that people see for a task: `task-1b4f…` is `a2a-1b4`. */
export function dispatchLabel(id: string): string {
	const bare = id.replace(/^task-/, "").replace(/[^A-Za-z0-9]/g, "");
	return `a2a-${bare.slice(0, 3).toLowerCase() || "0"}`;
}
