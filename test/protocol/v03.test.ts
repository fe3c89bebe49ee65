import assert from "node:assert/strict";
import { decodeCard, decodeParams } from "../../src/protocol/decode.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import { OPERATIONS, type OperationName, type Params } from "../../src/protocol/operations.ts";
import { TASK_STATES, type TaskState, taskId } from "../../src/protocol/types.ts";
import {
	downcastCard,
	downcastParams,
	downcastResult,
	isV03Message,
	upcastParams,
} from "../../src/protocol/v03/index.ts";
import { CARD, IDS, MESSAGE, OLD_CARD, PUSH, REF, RESULTS, SEND, TASK } from "./v03-samples.ts";

type Loose = { readonly [key: string]: unknown };
const OPERATION_NAMES = Object.keys(OPERATIONS) as OperationName[];
const wire = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
/** A 0.3 request as the core sees it. */
const core = <K extends OperationName>(operation: K, params: unknown): Params[K] =>
	decodeParams[operation](upcastParams(operation, params));

describe("isV03Message", () => {
	it("tells by the role, then by a kind", () => {
		for (const message of [
			{ role: "user" },
			{ role: "agent", parts: [] },
			{ kind: "message" },
			{ kind: "message", messageId: "x", role: "user" },
			{ parts: [{ kind: "text", text: "x" }] },
		])
			assert.equal(isV03Message(message), true, JSON.stringify(message));
		for (const message of [
			{ role: "ROLE_USER", parts: [{ text: "x" }] },
			{ role: "ROLE_USER", parts: [{ kind: "text", text: "x" }] },
			{ parts: [{ text: "x" }, null] },
			{},
			null,
			undefined,
			"user",
			[],
		])
			assert.equal(isV03Message(message), false, JSON.stringify(message));
	});
});

describe("upcastParams", () => {
	const message = { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "hi" }] };

	it("turns blocking around", () => {
		// R030
		assert.equal(
			core("SendMessage", { message, configuration: { blocking: false } }).configuration?.returnImmediately,
			true,
		);
		assert.equal(
			core("SendMessage", { message, configuration: { blocking: true } }).configuration?.returnImmediately,
			false,
		);
		assert.equal(core("SendMessage", { message, configuration: {} }).configuration?.returnImmediately, undefined);
		assert.equal(core("SendMessage", { message }).configuration, undefined);
		assert.equal(
			core("SendMessage", { message, configuration: { returnImmediately: true } }).configuration?.returnImmediately,
			true,
		);
	});

	it("reads a request as a 0.3 client sends it", () => {
		// R070
		assert.deepEqual(core("SendMessage", { message }), {
			message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] },
		});
	});

	it("refuses what 0.3 does not allow, by its 0.3 name where it has one of its own", () => {
		const field = (run: () => unknown) => {
			try {
				run();
			} catch (error) {
				if (error instanceof A2AError && error.name === "InvalidParamsError")
					return error.details.violations?.[0]?.field;
				throw error;
			}
			return "nothing";
		};
		assert.equal(
			field(() => core("SendMessage", { message, configuration: { blocking: "no" } })),
			"configuration.blocking",
		);
		assert.equal(
			field(() => core("SendMessage", { message: { ...message, parts: undefined } })),
			"message.parts",
		);
		assert.equal(
			field(() => core("SendMessage", {})),
			"message",
		);
		assert.equal(
			field(() => core("SendMessage", undefined)),
			"message",
		);
		assert.equal(
			field(() => core("SendMessage", { message, configuration: 5 })),
			"configuration",
		);
		assert.equal(
			field(() => core("GetTask", {})),
			"id",
		);
		assert.equal(
			field(() => core("CreateTaskPushNotificationConfig", { taskId: "t", pushNotificationConfig: {} })),
			"url",
		);
		assert.equal(
			field(() => core("GetTaskPushNotificationConfig", "x")),
			"",
		);
	});

	it("names a configuration without an id after its task, so that it is found again", () => {
		const set = core("CreateTaskPushNotificationConfig", {
			taskId: "t",
			pushNotificationConfig: { url: "https://h.example" },
		});
		const get = core("GetTaskPushNotificationConfig", { id: "t" });
		assert.deepEqual([set.taskId, set.id], [get.taskId, get.id]);
	});

	it("leaves parameters that are in the 1.0 form already as they are", () => {
		assert.deepEqual(core("CreateTaskPushNotificationConfig", PUSH), PUSH);
		assert.deepEqual(core("GetTaskPushNotificationConfig", REF), REF);
		assert.deepEqual(core("ListTaskPushNotificationConfigs", { taskId: "t" }), { taskId: "t" });
		assert.deepEqual(core("SendMessage", SEND), SEND);
	});
});

describe("downcastParams", () => {
	it("says whether a send waits, since servers of 0.3 choose for themselves", () => {
		const configuration = (params: Params["SendMessage"]) =>
			(downcastParams("SendMessage", params) as Loose).configuration;
		assert.deepEqual(configuration({ message: MESSAGE }), { blocking: true });
		assert.deepEqual(configuration({ message: MESSAGE, configuration: { returnImmediately: true } }), {
			blocking: false,
		});
		assert.equal((downcastParams("SendStreamingMessage", { message: MESSAGE }) as Loose).configuration, undefined);
	});

	it("leaves the tenant out", () => {
		for (const operation of ["GetTask", "CancelTask", "SubscribeToTask"] as const)
			assert.deepEqual(downcastParams(operation, { id: taskId("t"), tenant: "x" }), { id: "t" });
		assert.equal(downcastParams("GetExtendedAgentCard", { tenant: "x" }), undefined);
	});
});

describe("downcastResult", () => {
	it("gives the kinds that 0.3 readers look for", () => {
		const task = wire(downcastResult("SendMessage", { task: TASK })) as {
			kind: string;
			status: Loose;
			artifacts: [{ parts: Loose[] }];
			history: [Loose];
		};
		assert.deepEqual(
			[task.kind, task.status.state, task.history[0].kind, task.history[0].role],
			["task", "input-required", "message", "user"],
		);
		const { parts } = task.artifacts[0];
		assert.deepEqual(
			parts.map((part) => part.kind),
			["text", "file", "file", "data"],
		);
		assert.deepEqual(parts[1]?.file, { bytes: "aGk=", name: "a.txt", mimeType: "text/plain" });
	});

	it("has no member that is undefined", () => {
		const walk = (value: unknown): void => {
			assert.notEqual(value, undefined);
			if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) walk(inner);
		};
		for (const operation of OPERATION_NAMES)
			for (const result of RESULTS[operation]) walk(downcastResult(operation, result));
	});

	it("puts data that is no object into one, since 0.3 has no other", () => {
		const message = { messageId: "m", role: "ROLE_AGENT", parts: [{ data: [1] }, { data: "x" }, { data: null }] };
		const down = downcastResult("SendMessage", { message }) as { parts: Loose[] };
		assert.deepEqual(
			down.parts.map((part) => part.data),
			[{ value: [1] }, { value: "x" }, { value: null }],
		);
	});

	it("marks the update that ends or interrupts a stream as final, and no other", () => {
		const final = (state: TaskState) =>
			(downcastResult("SendStreamingMessage", { statusUpdate: { ...IDS, status: { state } } }) as Loose).final;
		for (const state of TASK_STATES)
			assert.equal(
				final(state),
				!["UNSPECIFIED", "SUBMITTED", "WORKING"].includes(state.replace("TASK_STATE_", "")),
				state,
			);
	});

	it("answers a deletion with null and a list with an array", () => {
		assert.equal(downcastResult("DeleteTaskPushNotificationConfig", {}), null);
		assert.deepEqual(downcastResult("ListTaskPushNotificationConfigs", { configs: [], nextPageToken: "" }), []);
	});
});

describe("downcastCard", () => {
	it("has what a 0.3 reader needs", () => {
		assert.deepEqual(wire(downcastCard(CARD)), {
			name: "pi",
			description: "d",
			version: "1",
			protocolVersion: "0.3.0",
			url: "http://127.0.0.1:9910/",
			preferredTransport: "JSONRPC",
			additionalInterfaces: [{ url: "http://127.0.0.1:9910/", transport: "JSONRPC" }],
			capabilities: { streaming: true, pushNotifications: false },
			supportsAuthenticatedExtendedCard: true,
			defaultInputModes: ["text/plain", "application/json"],
			defaultOutputModes: ["text/plain"],
			securitySchemes: { bearer: { type: "http", scheme: "Bearer" } },
			security: [{ bearer: [] }],
			skills: [{ id: "s", name: "S", description: "d", tags: ["t"], security: [{ bearer: ["w"] }] }],
			metadata: { pid: 1 },
		});
	});

	it("is read back as the card it was, with the 0.3 interface", () => {
		assert.deepEqual(decodeCard(wire(downcastCard(CARD))), OLD_CARD);
	});

	it("translates every kind of security scheme there and back", () => {
		const securitySchemes = {
			a: { apiKeySecurityScheme: { location: "header", name: "K", description: "d" } },
			h: { httpAuthSecurityScheme: { scheme: "Bearer", bearerFormat: "JWT" } },
			o: { oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl: "https://t.example", scopes: {} } } } },
			i: { openIdConnectSecurityScheme: { openIdConnectUrl: "https://o.example" } },
			m: { mtlsSecurityScheme: {} },
		};
		const down = wire(downcastCard({ ...CARD, securitySchemes })) as { securitySchemes: { [name: string]: Loose } };
		assert.deepEqual(
			Object.values(down.securitySchemes).map((scheme) => scheme.type),
			["apiKey", "http", "oauth2", "openIdConnect", "mutualTLS"],
		);
		assert.equal(down.securitySchemes.a?.in, "header");
		assert.deepEqual(decodeCard(down).securitySchemes, securitySchemes);
	});

	it("names the first interface of a card that has none for 0.3", () => {
		const down = downcastCard({ ...CARD, supportedInterfaces: CARD.supportedInterfaces.slice(0, 1) }) as Loose;
		assert.equal(down.url, "http://127.0.0.1:9910/");
		assert.equal((downcastCard({ ...CARD, supportedInterfaces: [] }) as Loose).url, "");
	});
});
