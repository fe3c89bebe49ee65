/** The configuration as plain text. */
import { isObject } from "./json.ts";
import { ROWS } from "./keys.ts";
import type { Origin, Problem } from "./load.ts";
import { GROUPS, type Row } from "./row.ts";

/** Where a value comes from, in two words. */
export function originText(origin: Origin): string {
	switch (origin.layer) {
		case "default":
			return "default";
		case "user":
			return "user settings";
		case "project":
			return "project settings";
		case "env-file":
			return `.env.local ${origin.name ?? ""}`.trim();
		case "env":
			return `env ${origin.name ?? ""}`.trim();
	}
}

/** `server.port = 9910  (default)`, group by group; then the problems. `values` by key name, `originAt` by path. */
export function showConfig(
	values: Readonly<Record<string, unknown>>,
	originAt: (path: string) => Origin,
	problems: readonly Problem[],
): string {
	const line = (path: string, text: string) => `  ${path} = ${text}  (${originText(originAt(path))})`;
	const lines = (row: Row<unknown>, value: unknown): string[] => {
		const { entry } = row.kind;
		const names = entry && isObject(value) ? Object.entries(value) : [];
		if (!entry || names.length === 0) return [line(row.path, row.kind.show(value))];
		return names.map(([name, each]) => line(`${row.path}.${name}`, entry.show(each)));
	};
	const groups = GROUPS.map((group) => {
		const rows = ROWS.filter(([, row]) => row.group === group);
		return [group, ...rows.flatMap(([key, row]) => lines(row, values[key]))].join("\n");
	});
	if (problems.length > 0) groups.push(["Problems", ...problems.map((problem) => `  ${problem.text}`)].join("\n"));
	return groups.join("\n\n");
}
