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
		if (last && value === undefined) return edited(removed(text, node, member), path, undefined);
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

/** The white space at the start of the line in which `at` stands. */
function indentAt(text: string, at: number): string {
	return /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", at - 1) + 1, at))?.[0] ?? "";
}

function written(value: unknown, indent: string, { unit, eol }: Style): string {
	return (JSON.stringify(value, undefined, unit) ?? "null").replaceAll("\n", eol + indent);
}

function replaced(text: string, { start, end }: Node, value: unknown, indent: string, style: Style): string {
	return text.slice(0, start) + written(value, indent, style) + text.slice(end);
}

function inserted(text: string, object: Node, key: string, value: unknown, style: Style): string {
	const last = object.members?.at(-1);
	const inside = text.slice(object.start + 1, object.end - 1);
	const outer = indentAt(text, object.start);
	const close = object.end - 1;
	// Behind a comment that stands behind the last member.
	const at = object.start + 1 + inside.trimEnd().length;
	if (last && !inside.includes("\n")) {
		const member = `${JSON.stringify(key)}: ${JSON.stringify(value)}`;
		return splice(text, last, at, ` ${member}`, close);
	}
	const indent = last && /^[ \t]*$/.test(lineBefore(text, last.start)) ? lineBefore(text, last.start) : outer + style.unit;
	const member = `${style.eol}${indent}${JSON.stringify(key)}: ${written(value, indent, style)}`;
	const end = inside.includes("\n") ? close : at;
	const tail = inside.includes("\n") ? "" : `${style.eol}${outer}`;
	return splice(text, last, at, member + tail, end);
}

function lineBefore(text: string, at: number): string {
	return text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
}

/** Puts `member` in at `at`, with a comma behind the member before it. */
function splice(text: string, before: Member | undefined, at: number, member: string, _close: number): string {
	if (!before || before.comma !== undefined) return text.slice(0, at) + member + text.slice(at);
	return `${text.slice(0, before.node.end)},${text.slice(before.node.end, at)}${member}${text.slice(at)}`;
}

function removed(text: string, object: Node, member: Member): string {
	const members = object.members ?? [];
	const before = members[members.indexOf(member) - 1];
	let from = member.start;
	let to = member.comma === undefined ? member.node.end : member.comma + 1;
	const head = text.slice(object.start + 1, from);
	const tail = text.slice(to, object.end - 1);
	if (head.trim() === "" && tail.trim() === "") return `${text.slice(0, object.start)}{}${text.slice(object.end)}`;
	const blank = /^[ \t]*(\r?\n|$)/.exec(text.slice(to, object.end - 1));
	if (lineBefore(text, from).trim() === "" && blank?.[1]) {
		// Nothing else in its lines: they go.
		from -= lineBefore(text, from).length;
		to += blank[0].length;
	} else if (member.comma !== undefined) to += /^[ \t]*/.exec(text.slice(to))?.[0].length ?? 0;
	// The member before it becomes the last one.
	const cut = member.comma === undefined && before?.comma !== undefined ? before.comma : undefined;
	const kept = cut === undefined ? text.slice(0, from) : text.slice(0, cut) + text.slice(cut + 1, from);
	return (to > member.node.end || blank?.[1] ? kept : kept.replace(/[ \t]+$/, "")) + text.slice(to);
}
