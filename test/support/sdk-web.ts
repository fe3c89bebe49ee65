/** What the SDKs' servers stand on: Express on a free port, remembering what was asked. */
import type { IncomingHttpHeaders, Server } from "node:http";
import type { AddressInfo } from "node:net";
import express, { type Express, type Request } from "express";

/** A server of an SDK, listening. */
export interface SdkServer {
	/** `http://127.0.0.1:port/` */
	readonly url: string;
	/** Requests in order of their arrival, by JSON-RPC method or by verb and path. */
	readonly received: { readonly method: string; readonly headers: IncomingHttpHeaders }[];
	/** Ids of tasks that were canceled at the agent. */
	readonly canceled: readonly string[];
	close(): Promise<void>;
}

export interface SdkServerOptions {
	/** The card says that it streams. Default true. */
	readonly streaming?: boolean;
	/** Bearer token that calls need; the card can be read without. */
	readonly token?: string;
	/** Which binding the card names. Default JSONRPC. */
	readonly binding?: "JSONRPC" | "HTTP+JSON";
	/** Push notifications and an extended card as well. Default false. */
	readonly whole?: boolean;
}

/** Where JSON-RPC and HTTP+JSON are served; not at the root, so that only the card leads there. */
export const RPC_PATH = "/a2a/jsonrpc";
export const REST_PATH = "/a2a/rest";

export const AGENT = {
	name: "Directive agent on the official SDK",
	description: "Does what the first word says.",
	version: "1.2.3",
	skill: { id: "directives", name: "Directives", description: "Follows the first word.", tags: ["test"] },
};

/** Whether a request may call. */
export const isLetIn = (request: Request, token: string | undefined): boolean =>
	token === undefined || request.headers.authorization === `Bearer ${token}`;

/** Starts Express; `route` adds what the SDK serves at the URL it is given. `stop` ends the agents behind it. */
export async function listenWith(
	options: SdkServerOptions,
	agents: { readonly canceled: readonly string[]; close(): void },
	route: (app: Express, url: string) => void,
): Promise<SdkServer> {
	const received: SdkServer["received"] = [];
	const app = express();
	const server = await new Promise<Server>((resolve) => {
		const listening = app.listen(0, "127.0.0.1", () => resolve(listening));
	});
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
	app.use([RPC_PATH, REST_PATH], express.json(), (request, response, next) => {
		const method = request.body?.method ?? `${request.method} ${request.path}`;
		received.push({ method, headers: request.headers });
		if (isLetIn(request, options.token)) next();
		else response.setHeader("www-authenticate", "Bearer").status(401).json({ error: "credentials required" });
	});
	route(app, url);
	return {
		url,
		received,
		canceled: agents.canceled,
		close() {
			agents.close();
			server.closeAllConnections();
			return new Promise((resolve) => server.close(() => resolve()));
		},
	};
}
