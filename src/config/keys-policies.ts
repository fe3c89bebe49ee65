/** The key that says what each caller's tasks may do. */
import { LONGEST_SEC } from "./entries.ts";
import { commas, flag, type Kind, line, list, whole, word, wrong } from "./key-kinds.ts";
import { entry, type FieldsOf, map } from "./map-kinds.ts";
import { type KeyTable, rows } from "./row.ts";

const RULES = ["full", "no-config-writes", "read-only"] as const;
type Rule = (typeof RULES)[number];
const isRule = (value: unknown): value is Rule => RULES.some((rule) => rule === value);

const names = list(word(/^[A-Za-z_][\w-]{0,63}$/, "the name of a tool"), "list");

/** One of the rules, or a list of tools. An empty list grants none. */
const tools: Kind<Rule | readonly string[]> = {
	expected: `${RULES.map((rule) => `"${rule}"`).join(", ")} or a list of tools`,
	takes: "rule or list",
	read(value, report) {
		if (isRule(value)) return value;
		if (Array.isArray(value)) return names.read(value, report);
		if (value !== null) report(wrong(value, this));
		return undefined;
	},
	parse: (text) => (isRule(text) ? text : text.includes(",") ? commas(text) : [text]),
	show: (value) => (typeof value === "string" ? value : names.show(value)),
};

const FIELDS = {
	tools,
	workspace: line(4096, "a folder"),
	confined: flag(),
	maxTurns: whole(1, 10_000),
	maxSeconds: whole(1, LONGEST_SEC),
	maxTokens: whole(1, 1_000_000_000),
	mayCall: flag(),
	ask: flag(),
};
type Written = FieldsOf<typeof FIELDS>;

function show(value: Written): string {
	const { tools: rule, ...rest } = value;
	const said = Object.entries(rest).map(([name, each]) => `${name} ${each}`);
	return [...(rule === undefined ? [] : [tools.show(rule)]), ...said].join(", ") || "(as default)";
}

const fields = entry(
	FIELDS,
	{ expected: `an object with ${Object.keys(FIELDS).join(", ")}`, show },
	(values) => values,
);

/** As `fields`, but a misspelled field counts: it was meant to narrow something. */
const policy: typeof fields = {
	...fields,
	read(value, report) {
		const strict: typeof report = ({ hint, ...fault }) =>
			report(hint ? { ...fault, found: "a field that nobody knows" } : fault);
		return fields.read.call(this, value, strict);
	},
};

/** `default`, a name, or an identity with its kind in front. */
const WHO = {
	pattern: /^[\p{L}\p{N}_][\p{L}\p{N}._:@-]{0,99}$/u,
	rule: "`default`, or a caller such as alice, peer:alice, ip:127.0.0.1, gateway:work, mailbox:dev",
};

const access = rows("Access", "server", "it decides what others may do here");

export const POLICY_KEYS = {
	peerPolicies: access(
		"server.peerPolicies",
		map(policy, "caller → policy", WHO),
		{},
		{
			help: "What each caller's tasks may do, `default` for the others: `{ tools, workspace, confined, maxTurns, maxSeconds, maxTokens, mayCall, ask }`",
			guards: true,
		},
	),
} as const satisfies KeyTable;
