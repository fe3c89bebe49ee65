/** The doctor on this session's own side: its settings, tokens, server and card. Pure. */
import { bindHost } from "./bindings/http/listen.ts";
import { needsToken } from "./card-facts.ts";
import { type Facts, type Finding, ok, orOk } from "./doctor-facts.ts";
import { oneLine } from "./lib/text.ts";

const WEAK_CHARACTERS = 16;

function settings({ problems }: Facts): readonly Finding[] {
	const found = problems.map(
		({ level, text }): Finding => ({
			level: level === "hint" ? "note" : level,
			about: "settings",
			text,
			fix: "Correct it there, or with /a2a-config.",
		}),
	);
	return orOk("settings", found);
}

function tokens({ config }: Facts): readonly Finding[] {
	const { sharedToken, peerTokens, trustedPeers, allowAllUsers } = config;
	const about = "tokens";
	const all = [
		...(sharedToken === "" ? [] : [{ at: "server.sharedToken", token: sharedToken }]),
		...Object.entries(peerTokens).map(([name, token]) => ({ at: `server.peerTokens.${name}`, token })),
	];
	const found: Finding[] = [];
	for (const [index, { at, token }] of all.entries()) {
		if (token.length < WEAK_CHARACTERS || new Set(token).size < 6)
			found.push({
				level: "warning",
				about,
				text: `${at} is easy to guess (under ${WEAK_CHARACTERS} characters, or few different ones)`,
				fix: "Make a new one with `openssl rand -hex 32` and give it to the caller.",
			});
		const same = all.slice(0, index).find((other) => other.token === token);
		if (same)
			found.push({
				level: "error",
				about,
				text: `${at} is the same token as ${same.at}: the two callers cannot be told apart`,
				fix: "Give each caller a token of its own.",
			});
	}
	const guarded = needsToken(config);
	if (trustedPeers.length > 0 && !guarded)
		found.push({
			level: "warning",
			about,
			text: "server.trustedPeers names callers, but no token says who calls",
			fix: "Add a token for each of them under server.peerTokens.",
		});
	if (allowAllUsers && trustedPeers.length > 0)
		found.push({
			level: "warning",
			about,
			text: "server.allowAllUsers lets everybody in with a token, whatever server.trustedPeers says",
			fix: "Set server.allowAllUsers to false.",
		});
	if (!guarded && config.serverEnabled)
		found.push({
			level: "note",
			about,
			text: "no token is set: every program on this machine may call this session, nothing else may",
			fix: "Set server.peerTokens to name the callers.",
		});
	return orOk(about, found);
}

function server({ config, server: status }: Facts): readonly Finding[] {
	const about = "server";
	if (!status.running) {
		const why = status.problem ? `: ${oneLine(status.problem, 300)}` : "";
		if (!config.serverEnabled && why === "")
			return [{ level: "note", about, text: "it is off: nobody can call this session", fix: "Run /a2a-server start." }];
		return [{ level: "error", about, text: `it does not run${why}`, fix: "Correct that, then run /a2a-server start." }];
	}
	const found: Finding[] = [];
	const { port, host, problem } = status;
	if (config.serverPort !== 0 && port !== config.serverPort)
		found.push({
			level: "warning",
			about: "port",
			text: `${config.serverPort} was taken, the server listens on ${port}: callers with the old address do not find it`,
			fix: "End what listens there, or set server.port to a free one.",
		});
	const narrow = host === "127.0.0.1" && bindHost(config.serverHost, true) !== host;
	if (narrow)
		found.push({
			level: "warning",
			about: "server",
			text: `it listens on ${host}, not on ${config.serverHost}: without a token it stays on this machine`,
			fix: "Set server.peerTokens or server.sharedToken.",
		});
	else if (problem)
		found.push({
			level: "warning",
			about: "journal",
			text: oneLine(problem, 300),
			fix: "Make a2a_tasks in the agent folder writable, then run /a2a-server stop and /a2a-server start.",
		});
	return orOk(about, found);
}

function own({ own: looks, config }: Facts): readonly Finding[] {
	return looks.map(({ url, look }): Finding => {
		const about = "card";
		if (!("problem" in look)) return ok(about);
		const text = `our own card cannot be read at ${oneLine(url, 200)}: ${oneLine(look.problem, 300)}`;
		const fix =
			config.publicUrl !== "" && url.startsWith(config.publicUrl)
				? "Check server.publicUrl, and that the proxy there leads to this server."
				: "Look whether a firewall or another program is in the way, then run /a2a-server stop and /a2a-server start.";
		return { level: "error", about, text, fix };
	});
}

/** Everything about the way in. */
export const ownFindings = (facts: Facts): readonly Finding[] => [
	...settings(facts),
	...tokens(facts),
	...server(facts),
	...own(facts),
];
