/** Changes one member of a JSON text and leaves every other byte as it is: order, indentation, comments, line ends. */
import { type Member, type Node, parseJson } from "./json.ts";

/**
 * `text` with `value` at the end of `path`, `undefined` to take that member out. Objects that are missing on the way are
 * made. Throws when `text` is not JSON, or when something on the way is neither an object nor `null`.
 */
export function edited(text: string, path: readonly string[], value: unknown): string {
	const style = styleOf(text);
	let node = parseJson(text);
	for (const [depth, key] of path.entries()) {
		if (!node.members) throw new Error(`${path.slice(0, depth).join(".") || "it"} is not an object`);
		const rest = path.slice(depth + 1);
		// A name that stands there twice counts where it stands last.
		const member = node.members.findLast((each) => each.key === key);
		const last = rest.length === 0 || member?.node.value === null;
		if (!member) return value === undefined ? text : inserted(text, node, key, nested(rest, value), style);
		if (value === undefined && last && rest.length > 0) return text;
		if (value === undefined && last) return edited(removed(text, node, member), path, undefined);
		if (last) return replaced(text, member.node, nested(rest, value), indentAt(text, member.start), style);
		node = member.node;
	}
	return text;
}

interface Style {
	readonly unit: string;
	readonly eol: string;
}

/** How the text is laid out; two spaces, as the host writes, where it does not tell. */
function styleOf(text: string): Style {
	return { unit: /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ", eol: text.includes("\r\n") ? "\r\n" : "\n" };
}

function nested(path: readonly string[], value: unknown): unknown {
	return path.reduceRight((inner, key) => ({ [key]: inner }), value);
}

function written(value: unknown, indent: string, { unit, eol }: Style): string {
	return (JSON.stringify(value, undefined, unit) ?? "null").replaceAll("\n", eol + indent);
}

function replaced(text: string, { start, end }: Node, value: unknown, indent: string, style: Style): string {
	return text.slice(0, start) + written(value, indent, style) + text.slice(end);
}

/** The text before `at` in its line. */
function lineBefore(text: string, at: number): string {
	return text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
}

/** The white space at the start of the line in which `at` stands. */
function indentAt(text: string, at: number): string {
	return /^[ \t]*/.exec(lineBefore(text, at))?.[0] ?? "";
}

function inserted(text: string, object: Node, key: string, value: unknown, style: Style): string {
	const last = object.members?.at(-1);
	const inside = text.slice(object.start + 1, object.end - 1);
	const broken = inside.includes("\n");
	// Where the content ends, a comment behind the last member included.
	const at = object.start + 1 + inside.trimEnd().length;
	const head =
		last && last.comma === undefined
			? `${text.slice(0, last.node.end)},${text.slice(last.node.end, at)}`
			: text.slice(0, at);
	const name = JSON.stringify(key);
	if (last && !broken) return `${head} ${name}: ${JSON.stringify(value)}${text.slice(at)}`;
	const outer = indentAt(text, object.start);
	const before = last ? lineBefore(text, last.start) : "-";
	const indent = before.trim() === "" ? before : outer + style.unit;
	const tail = broken ? text.slice(at) : `${style.eol}${outer}${text.slice(object.end - 1)}`;
	return `${head}${style.eol}${indent}${name}: ${written(value, indent, style)}${tail}`;
}

function removed(text: string, object: Node, member: Member): string {
	const members = object.members ?? [];
	let from = member.start;
	let to = member.comma === undefined ? member.node.end : member.comma + 1;
	const around = text.slice(object.start + 1, from) + text.slice(to, object.end - 1);
	if (around.trim() === "") return `${text.slice(0, object.start)}{}${text.slice(object.end)}`;
	const lead = lineBefore(text, from);
	const trail = /^[ \t]*(?:\r?\n)?/.exec(text.slice(to))?.[0] ?? "";
	if (lead.trim() === "" && trail.endsWith("\n")) {
		// Nothing else stands in its lines: they go.
		from -= lead.length;
		to += trail.length;
	} else if (member.comma !== undefined && !trail.endsWith("\n")) to += trail.length;
	else from -= lead.length - lead.trimEnd().length;
	// Without a comma behind it, it was the last one, and the one before it becomes the last.
	const comma = member.comma === undefined ? members[members.indexOf(member) - 1]?.comma : undefined;
	const kept = comma === undefined ? text.slice(0, from) : text.slice(0, comma) + text.slice(comma + 1, from);
	return kept + text.slice(to);
}
