/** The tables of keys and variables, in Markdown. */
import { ROWS } from "./keys.ts";
import type { Row } from "./row.ts";

/** A Markdown table. */
export function table(head: readonly string[], body: readonly (readonly string[])[]): string {
	const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
	return [line(head), line(head.map(() => "---")), ...body.map(line)].join("\n");
}

/** The default of a row as it would be written. */
function fallbackText(row: Row<unknown>): string {
	if (row.fallbackText !== undefined)
		return row.fallbackText.startsWith("<") ? `\`${row.fallbackText}\`` : row.fallbackText;
	if (row.fallback === "") return "(not set)";
	return `\`${JSON.stringify(row.fallback)}\``;
}

/** Every key: path, default, what it takes, who may set it, meaning. */
export function configTable(): string {
	const body = ROWS.map(([, row]) => [
		`\`${row.path}\``,
		fallbackText(row),
		row.kind.takes,
		row.scope === "lower" ? "may lower it" : "*yours only*",
		row.help,
	]);
	return table(["Key", "Default", "Takes", "Project file", "Meaning"], body);
}

/** Every environment variable and the key it sets. */
export function envTable(): string {
	const body = ROWS.flatMap(([, row]) => (row.env ? [[`\`${row.env}\``, `\`${row.path}\``, row.help]] : []));
	return table(["Variable", "Key", "Meaning"], body);
}
