/** `/a2a-doctor` as a judgement: from facts about the set-up to findings, each with what to do. Pure. */
import { type Facts, type Finding, type Level, ok, orOk, type PeerLook } from "./doctor-facts.ts";
import { ownFindings } from "./doctor-server.ts";
import type { GatewayStatus } from "./gateways.ts";
import { oneLine } from "./lib/text.ts";

const MOST_SKEW_MS = 60_000;
const LOW_BYTES = 100 * 1024 * 1024;
const PI_FLOOR = "0.73.1";
const NODE_FLOOR = "20.6.0";

function peer({ name, source, address, answer, why = "" }: PeerLook): Finding {
	const about = `peer ${oneLine(name, 60)}`;
	const there = `a2a.peers.${oneLine(name, 60)}`;
	const how = source === "config" ? `${there}.auth.token` : "an entry under a2a.peers with auth.token";
	switch (answer) {
		case "ok":
			return ok(about);
		case "unasked":
			return {
				level: "note",
				about,
				text: `found on the network at ${oneLine(address, 200)}, and not called before somebody allows it`,
				fix: "Allow it with an entry under a2a.peers.",
			};
		case "unauthorized":
			return {
				level: "error",
				about,
				text: "it does not take our token",
				fix: `Set ${how} to the token that it gave you.`,
			};
		case "untrusted":
			return {
				level: "error",
				about,
				text: "it knows our token and does not trust us",
				fix: "Its operator must add us to server.trustedPeers there.",
			};
		case "failed":
			return {
				level: "warning",
				about,
				text: `no answer from ${oneLine(address, 200)}: ${oneLine(why, 300)}`,
				fix:
					source === "config" ? `Start it, or correct ${there}.url.` : "Start it again, or wait until it is forgotten.",
			};
	}
}

function clocks({ peers }: Facts): readonly Finding[] {
	const off = peers.filter(({ skewMs = 0 }) => Math.abs(skewMs) > MOST_SKEW_MS);
	return off.map(
		({ name, skewMs = 0 }): Finding => ({
			level: "warning",
			about: "clock",
			text: `that of ${oneLine(name, 60)} is ${Math.round(Math.abs(skewMs) / 1000)} s ${skewMs > 0 ? "ahead of" : "behind"} ours`,
			fix: "Set the clock of both machines by NTP (`timedatectl set-ntp true` on Linux).",
		}),
	);
}

function gateway({ key, url, state, detail }: GatewayStatus, running: boolean): Finding {
	const about = `gateway ${key}`;
	if (state === "registered") return ok(about);
	const at = `${oneLine(url, 200)}: ${state}${detail ? `; ${oneLine(detail, 300)}` : ""}`;
	const here = `discovery.gateways.${key}`;
	if (state === "off") return { level: "note", about, text: at, fix: `Set ${here}.enabled to true to use it.` };
	if (state === "stopped" && !running)
		return { level: "note", about, text: at, fix: "Run /a2a-server start to register there." };
	const fix =
		state === "pending"
			? "Its operator must accept this session there."
			: state === "revoked"
				? "Its operator has taken the admission back: ask there, or give this session another server.agentName."
				: `Check that it runs, and ${here}.url and .token.`;
	return { level: "warning", about, text: at, fix };
}

function surroundings(facts: Facts): readonly Finding[] {
	const { config, mailbox, mdnsMissing, auditProblem, freeBytes, piVersion, nodeVersion } = facts;
	const checks: readonly (readonly [about: string, found: Omit<Finding, "about"> | undefined])[] = [
		[
			"mDNS",
			config.mdnsEnabled && mdnsMissing !== undefined
				? { level: "warning", text: "it is on, and bonjour-service is not installed", fix: mdnsMissing }
				: undefined,
		],
		[
			"mailbox",
			mailbox && mailbox.id === undefined
				? {
						level: "warning",
						text: `not joined at ${oneLine(mailbox.root, 200)}`,
						fix: "Make that folder writable and run /a2a-server start, or set mailbox.enabled to false.",
					}
				: undefined,
		],
		[
			"audit log",
			auditProblem === undefined
				? undefined
				: {
						level: "error",
						text: `it cannot be written: ${oneLine(auditProblem, 300)}`,
						fix: "Make the file and its folder yours and writable.",
					},
		],
		[
			"disk",
			freeBytes !== undefined && freeBytes < LOW_BYTES
				? {
						level: "warning",
						text: `${Math.floor(freeBytes / 1024 / 1024)} MB are free where the agent folder is`,
						fix: "Make room: tasks, transcripts and the audit log are written there.",
					}
				: undefined,
		],
		[
			"Pi",
			isOlder(piVersion, PI_FLOOR)
				? { level: "error", text: `${piVersion} is older than ${PI_FLOOR}`, fix: "Update Pi." }
				: undefined,
		],
		[
			"Node",
			isOlder(nodeVersion, NODE_FLOOR)
				? {
						level: "error",
						text: `${nodeVersion} is older than ${NODE_FLOOR}`,
						fix: "Update Node, then start Pi again.",
					}
				: undefined,
		],
	];
	return checks.map(([about, found]) => (found ? { about, ...found } : ok(about)));
}

function files({ files: faults }: Facts): readonly Finding[] {
	const found = faults.map(
		({ path, mode, folder }): Finding =>
			mode === undefined
				? {
						level: "error",
						about: "files",
						text: `${path} belongs to another user`,
						fix: `Give it back to yourself: sudo chown -R "$(id -un)" "${path}"`,
					}
				: {
						level: "warning",
						about: "files",
						text: `${path} can be read or changed by other users (mode ${mode})`,
						fix: `Run: chmod ${folder ? "700" : "600"} "${path}"`,
					},
	);
	return orOk("files", found);
}

/** Whether version `a` comes before `b`; only their numbers count. */
export function isOlder(a: string, b: string): boolean {
	const [left, right] = [a, b].map((text) => (text.match(/\d+/g) ?? []).slice(0, 3).map(Number));
	const at = [0, 1, 2].find((n) => (left?.[n] ?? 0) !== (right?.[n] ?? 0));
	return at !== undefined && (left?.[at] ?? 0) < (right?.[at] ?? 0);
}

/** Every finding, those that are well included. */
export function diagnose(facts: Facts): readonly Finding[] {
	return [
		...ownFindings(facts),
		...facts.peers.map(peer),
		...clocks(facts),
		...facts.gateways.map((each) => gateway(each, facts.server.running)),
		...files(facts),
		...surroundings(facts),
	];
}

const MARKS: readonly (readonly [Level, string])[] = [
	["error", "✗"],
	["warning", "!"],
	["note", "·"],
];

/** One line for each finding, the worst first; what is well is a count at the end. */
export function doctorText(findings: readonly Finding[]): string {
	const shown = MARKS.flatMap(([level, mark]) =>
		findings
			.filter((each) => each.level === level)
			.map(({ about, text, fix }) => `${mark} ${about}: ${oneLine(text, 600)}${fix ? ` → ${oneLine(fix, 400)}` : ""}`),
	);
	const well = findings.filter(({ level }) => level === "ok").length;
	const rest = `✓ ${well} of ${findings.length} checks are well`;
	return [...shown, shown.length === 0 ? `${rest}.` : `${rest}; each line above says what to do after →.`].join("\n");
}
