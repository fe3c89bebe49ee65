import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import ts from "typescript";
import { configTable, envTable } from "../../src/config/docs.ts";
import { keyAt, ROWS } from "../../src/config/keys.ts";
import { distance, nearest } from "../../src/config/nearest.ts";
import { GROUPS } from "../../src/config/row.ts";

/** Everything that the users' documentation of the settings names. */
const DOCUMENTED = `peers selfIdentity server.enabled server.port server.portFallback server.host server.workspace
	server.agentName server.publicUrl server.sharedToken server.peerTokens server.trustedPeers server.allowAllUsers
	server.childTranscripts server.childTranscriptRetentionDays server.maxConcurrent server.replyTimeoutSec
	server.asyncTimeoutSec server.maxPingpongTurns server.rateLimitPerMin server.skills timeouts.send timeouts.async
	timeouts.stream retryAttempts verifySsl discovery.local.enabled discovery.local.heartbeatSec discovery.local.ttlSec
	discovery.mdns.enabled discovery.mdns.serviceType discovery.gateway.enabled discovery.gateway.url
	discovery.gateway.token discovery.gateway.name discovery.gateway.upstreamToken discovery.gateway.heartbeatSec
	discovery.gateway.channel discovery.gateways discovery.enrichCard ui.transcript`.split(/\s+/);
const VARIABLES = `A2A_BEARER_TOKEN A2A_PEER_TOKENS A2A_HOST A2A_PORT A2A_PORT_FALLBACK A2A_AGENT_NAME A2A_PUBLIC_URL
	A2A_TRUSTED_PEERS A2A_ALLOW_ALL_USERS A2A_RATE_LIMIT A2A_MAX_PINGPONG_TURNS A2A_REPLY_TIMEOUT A2A_ASYNC_TIMEOUT
	A2A_CHILD_TRANSCRIPTS A2A_CHILD_TRANSCRIPT_RETENTION_DAYS A2A_SERVER_ENABLED A2A_SELF_IDENTITY A2A_DISCOVERY_LOCAL
	A2A_DISCOVERY_MDNS A2A_MDNS_TYPE A2A_GATEWAY_URL A2A_GATEWAY_TOKEN A2A_GATEWAY_ENABLED A2A_HEARTBEAT_SEC A2A_TTL_SEC
	A2A_ENRICH_CARD A2A_UI_TRANSCRIPT`.split(/\s+/);

/** Keys whose names other things have as well: they count only when they are read from a configuration. */
const COMMON = ["peers", "skills", "gateways", "workspace", "transcript"];

/** The members that a source text reads from a configuration, or from a slice of one. */
function reads(text: string): Set<string> {
	const source = ts.createSourceFile("x.ts", text, ts.ScriptTarget.Latest, true);
	const found = new Set<string>();
	const isConfig = (node: ts.Node | undefined) =>
		node !== undefined && /\bconfig(\(\))?$/i.test(text.slice(Math.max(node.pos, node.end - 20), node.end));
	const note = (name: string, sure: boolean) => {
		if (sure || !COMMON.includes(name)) found.add(name);
	};
	function visit(node: ts.Node): void {
		if (ts.isPropertyAccessExpression(node)) note(node.name.text, isConfig(node.expression));
		if (ts.isObjectBindingPattern(node)) {
			const from = node.parent;
			const sure = isConfig(from.initializer) || (!ts.isBindingElement(from) && isConfig(from.type));
			for (const element of node.elements) if (sure) note((element.propertyName ?? element.name).getText(source), true);
		}
		ts.forEachChild(node, visit);
	}
	visit(source);
	return found;
}

describe("config: the table of keys", () => {
	it("has every documented key and variable", () => {
		const paths = new Set(ROWS.map(([, row]) => row.path));
		const variables = new Set(ROWS.map(([, row]) => row.env));
		assert.deepEqual(
			DOCUMENTED.filter((path) => !paths.has(path)),
			[],
		);
		assert.deepEqual(
			VARIABLES.filter((variable) => !variables.has(variable)),
			[],
		);
	});

	it("gives every path and variable to one row only", () => {
		for (const names of [ROWS.map(([, row]) => row.path), ROWS.flatMap(([, row]) => row.env ?? [])])
			assert.equal(new Set(names).size, names.length);
	});

	it("says of every key what it is for, where it is shown, why a repository may not have it, and its range", () => {
		for (const [key, row] of ROWS) {
			assert.match(row.help, /^[A-Z`a-z].{9,}[^.]$/, key);
			assert.ok(GROUPS.includes(row.group), key);
			assert.match(row.why, /^it .{10,}/, key);
			assert.ok(row.kind.expected && row.kind.takes, key);
			if (row.scope === "lower") assert.equal(typeof row.kind.rank, "function", key);
		}
	});

	it("lets a repository lower limits, and nothing else", () => {
		assert.deepEqual(
			ROWS.filter(([, row]) => row.scope !== "operator").map(([, row]) => row.path),
			`server.maxConcurrent server.rateLimitPerMin server.maxPingpongTurns server.replyTimeoutSec server.asyncTimeoutSec
			server.queue.maxWaitSec
			server.files.maxBytes server.files.maxTotalBytes server.files.maxCount files.send.maxBytes files.send.maxTotalBytes
			files.send.maxCount files.receive.maxBytes files.receive.maxTotalBytes files.receive.maxCount
			retryAttempts timeouts.send timeouts.stream`.split(/\s+/),
		);
	});

	it("has no dead key: every one is read outside of config", () => {
		const src = new URL("../../src/", import.meta.url);
		const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter(
			(file) => file.endsWith(".ts") && !/^config[\\/]/.test(file),
		);
		const read = new Set<string>();
		for (const file of files)
			for (const name of reads(readFileSync(new URL(file.replaceAll("\\", "/"), src), "utf8"))) read.add(name);
		// The single gateway's fields end in an entry of `gateways`, where config puts them.
		const names = ROWS.filter(([, row]) => row.group !== "Gateway").map(([key]) => key);
		const unread = names.filter((name) => !read.has(name));
		assert.deepEqual(unread, [], `read by nothing: ${unread.join(", ")}`);
	});

	it("tells a setting that is read from other things of that name", () => {
		assert.deepEqual(
			[...reads("a(config().peers); const { skills, transcript: t }: Config = x")],
			["peers", "skills", "transcript"],
		);
		assert.deepEqual(
			[...reads("const { ttlSec } = loaded.config; f(options.trustedPeers)")],
			["ttlSec", "config", "trustedPeers"],
		);
		assert.deepEqual(
			[...reads("directory.peers; card.skills; const { gateways } = parts; const x = { ttlSec: 1 }")],
			[],
		);
	});

	it("finds the place of a path, into maps and their fields, also for names with dots", () => {
		const place = (path: string) => keyAt(path)?.path;
		assert.deepEqual(place("server.port"), ["server", "port"]);
		assert.deepEqual(place("peers"), ["peers"]);
		assert.deepEqual(place("peers.alice"), ["peers", "alice"]);
		assert.deepEqual(place("peers.alice.auth.token"), ["peers", "alice", "auth", "token"]);
		assert.deepEqual(place("peers.host.example.url"), ["peers", "host.example", "url"]);
		assert.deepEqual(place("discovery.gateways.10.0.0.5-9920.token"), [
			"discovery",
			"gateways",
			"10.0.0.5-9920",
			"token",
		]);
		assert.deepEqual(place("server.peerTokens.a.url"), ["server", "peerTokens", "a.url"]);
		for (const path of ["", "server", "server.portt", "peers.", "peers.a b", "peers.__proto__", "server.port.x"])
			assert.equal(keyAt(path), undefined, path);
	});

	it("makes a table line of every key and every variable, each of the same width", () => {
		for (const [table, names] of [
			[configTable(), ROWS.map(([, row]) => row.path)],
			[envTable(), ROWS.flatMap(([, row]) => row.env ?? [])],
		] as const) {
			const lines = table.split("\n");
			assert.equal(lines.length, names.length + 2);
			for (const name of names) assert.ok(table.includes(`\`${name}\``), name);
			const cells = (line: string) => line.split(/(?<!\\)\|/).length;
			assert.deepEqual(new Set(lines.map(cells)).size, 1);
		}
	});

	it("counts the letters that are wrong", () => {
		assert.equal(distance("port", "port"), 0);
		assert.equal(distance("prot", "port"), 1);
		assert.equal(distance("kitten", "sitting"), 3);
		assert.equal(distance("", "abc"), 3);
		assert.equal(nearest("server.hots", ["server.host", "server.port"]), "server.host");
		assert.equal(nearest("x", ["server.host"]), undefined);
		assert.equal(nearest("y".repeat(100_000), ["server.host"]), undefined);
	});
});
