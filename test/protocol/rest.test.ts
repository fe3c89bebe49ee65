import assert from "node:assert/strict";
import { decodeParams } from "../../src/protocol/decode.ts";
import { A2AError, ERRORS, type ErrorName } from "../../src/protocol/errors.ts";
import { OPERATIONS, type OperationName, type Params } from "../../src/protocol/operations.ts";
import { buildRest, match, readRestError, restError, restParams } from "../../src/protocol/rest.ts";
import { contextId, taskId } from "../../src/protocol/types.ts";

const OPERATION_NAMES = Object.keys(OPERATIONS) as OperationName[];

/** What the server half makes of a request of the client half. */
function received(verb: string, target: string, body?: unknown): { operation: OperationName; params: unknown } {
	const [path = "", query = ""] = target.split("?");
	const matched = match(verb, path);
	assert.ok(matched && "operation" in matched, `${verb} ${path}`);
	return { operation: matched.operation, params: restParams(matched, new URLSearchParams(query), body) };
}

const odd = taskId("a/b:c d?é%2F..");
const PARAMS: { readonly [K in OperationName]: readonly Params[K][] } = {
	SendMessage: [{ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] }, tenant: "x y" }],
	SendStreamingMessage: [{ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] } }],
	GetTask: [{ id: taskId("t") }, { id: odd, historyLength: 0, tenant: "x" }],
	ListTasks: [
		{},
		{
			contextId: contextId("c&d"),
			status: "TASK_STATE_WORKING",
			pageSize: 2,
			pageToken: "n=",
			historyLength: 1,
			statusTimestampAfter: "2025-01-31T12:00:00.000Z",
			includeArtifacts: true,
			tenant: "x",
		},
		{ includeArtifacts: false },
	],
	CancelTask: [
		{ id: odd, metadata: { a: 1 } },
		{ id: taskId("t"), tenant: "x" },
	],
	SubscribeToTask: [{ id: odd }],
	CreateTaskPushNotificationConfig: [{ taskId: odd, url: "https://h.example/x", id: "p" }],
	GetTaskPushNotificationConfig: [{ taskId: odd, id: "p/q" }],
	ListTaskPushNotificationConfigs: [{ taskId: odd }, { taskId: odd, pageSize: 5, tenant: "x" }],
	DeleteTaskPushNotificationConfig: [{ taskId: odd, id: "p" }],
	GetExtendedAgentCard: [{}, { tenant: "x" }],
};

describe("HTTP+JSON requests", () => {
	for (const operation of OPERATION_NAMES)
		it(`carries the parameters of ${operation} from client to server`, () => {
			for (const params of PARAMS[operation]) {
				const { verb, path, body } = buildRest(operation, params as never);
				assert.match(path, /^[\x21-\x7e]+$/, "fit for a request line");
				const got = received(verb, path, body && JSON.parse(JSON.stringify(body)));
				assert.equal(got.operation, operation);
				assert.deepEqual(decodeParams[operation](got.params), params);
			}
		});

	it("uses the verbs and paths of the specification", () => {
		const line = <K extends OperationName>(operation: K, params: Params[K]) => {
			const { verb, path } = buildRest(operation, params);
			return `${verb} ${path}`;
		};
		const id = taskId("t");
		assert.equal(line("GetTask", { id, historyLength: 2 }), "GET /tasks/t?historyLength=2");
		assert.equal(line("CancelTask", { id, tenant: "x" }), "POST /x/tasks/t:cancel");
		assert.equal(line("SubscribeToTask", { id }), "POST /tasks/t:subscribe");
		assert.equal(
			line("DeleteTaskPushNotificationConfig", { taskId: id, id: "p" }),
			"DELETE /tasks/t/pushNotificationConfigs/p",
		);
		assert.equal(line("GetExtendedAgentCard", {}), "GET /extendedAgentCard");
	});
});

describe("match", () => {
	it("takes both verbs of a subscription", () => {
		for (const verb of ["GET", "POST"]) assert.equal(received(verb, "/tasks/t:subscribe").operation, "SubscribeToTask");
	});

	it("takes a path with a slash at its end", () => {
		assert.equal(received("GET", "/tasks/").operation, "ListTasks");
	});

	it("says which verbs a path has when it has not the one asked for", () => {
		const allow = (verb: string, path: string) => {
			const matched = match(verb, path);
			return matched && "allow" in matched ? matched.allow : undefined;
		};
		assert.deepEqual(allow("GET", "/message:send"), ["POST"]);
		assert.deepEqual(allow("DELETE", "/tasks/x"), ["GET"]);
		assert.deepEqual(allow("PUT", "/tasks/x"), ["GET"]);
		assert.deepEqual(allow("GET", "/tasks/x:cancel"), ["POST"]);
		assert.deepEqual(allow("PUT", "/tasks/x/pushNotificationConfigs")?.toSorted(), ["GET", "POST"]);
	});

	it("decodes ids, and takes a colon in one for what it is", () => {
		for (const [segment, id] of [
			["%2e%2e%2fetc%2fpasswd", "../etc/passwd"],
			["a%20b", "a b"],
			["%E2%98%83", "☃"],
			["x%3Ay", "x:y"],
			["x%3Acancel", "x:cancel"],
			["a:b", "a:b"],
			["constructor", "constructor"],
			["__proto__", "__proto__"],
		])
			assert.deepEqual(received("GET", `/tasks/${segment}`), { operation: "GetTask", params: { id } });
	});

	it("knows no other path", () => {
		for (const path of [
			"",
			"/",
			"/x",
			"/x/y/z",
			"/message",
			"/messagexsend",
			"/tasks/x/y",
			"/tasks//pushNotificationConfigs",
			"/a/b/tasks",
			"/constructor",
		])
			assert.equal(match("GET", path), undefined, path);
	});

	it("reads the tenant before the path", () => {
		assert.deepEqual(received("GET", "/a%2Fb/tasks/t").params, { tenant: "a/b", id: "t" });
		assert.deepEqual(received("GET", "/tasks/tasks").params, { id: "tasks" });
	});

	it("refuses a broken percent escape as the caller's fault", () => {
		for (const path of ["/tasks/%zz", "/%zz/tasks"])
			assert.throws(
				() => match("GET", path),
				(error) => error instanceof A2AError && ERRORS[error.name].http === 400,
			);
	});
});

describe("restParams", () => {
	const list = (query: string) => decodeParams.ListTasks(received("GET", `/tasks?${query}`).params);

	it("reads numbers, booleans and enums of a query", () => {
		assert.deepEqual(list("pageSize=2&includeArtifacts=true&status=TASK_STATE_FAILED&futureOption=1&A2A-Version=1.0"), {
			pageSize: 2,
			includeArtifacts: true,
			status: "TASK_STATE_FAILED",
		});
		assert.deepEqual(list("contextId=&pageToken="), {});
	});

	it("leaves what cannot be read to be refused by name", () => {
		for (const query of [
			"pageSize=abc",
			"pageSize=0",
			"pageSize=150",
			"pageSize=",
			"status=RUNNING",
			"historyLength=-1",
			"includeArtifacts=maybe",
			"includeArtifacts=",
			"statusTimestampAfter=x",
		])
			assert.throws(
				() => list(query),
				(error) =>
					error instanceof A2AError &&
					error.name === "InvalidParamsError" &&
					error.details.violations?.[0]?.field === query.split("=")[0],
				query,
			);
	});

	it("lets no body or query overrule the path, nor a key change a prototype", () => {
		assert.deepEqual(received("POST", "/tasks/t/pushNotificationConfigs", { taskId: "other", url: "u" }).params, {
			taskId: "t",
			url: "u",
		});
		assert.deepEqual(received("GET", "/tasks/t?id=other").params, { id: "t" });
		const params = received("GET", "/tasks?__proto__=x").params as object;
		assert.equal(Object.getPrototypeOf(params), Object.prototype);
	});

	it("refuses a body that is no object, and does without one", () => {
		for (const body of [[], "x", 5, null, true])
			assert.throws(
				() => received("POST", "/message:send", body),
				(error) => error instanceof A2AError && error.name === "InvalidParamsError",
			);
		assert.deepEqual(received("POST", "/tasks/t:cancel").params, { id: "t" });
		assert.deepEqual(received("POST", "/message:send").params, {});
	});
});

describe("HTTP+JSON errors", () => {
	it("comes back as the error it was, for every error there is", () => {
		for (const name of Object.keys(ERRORS) as ErrorName[]) {
			const violations = [{ field: "f", description: "d" }];
			const { status, body } = restError(new A2AError(name, "why", { violations }));
			const back = readRestError(status, JSON.parse(JSON.stringify(body)));
			assert.equal(back.name, name);
			assert.equal(back.message, "why");
			assert.equal(back.details.metadata?.code, String(ERRORS[name].http));
			assert.deepEqual(back.details.violations, violations);
		}
	});

	it("has the form of google.rpc.Status", () => {
		assert.deepEqual(restError(new A2AError("TaskNotFoundError", "no", { metadata: { taskId: "t" } })), {
			status: 404,
			body: {
				error: {
					code: 404,
					status: "NOT_FOUND",
					message: "no",
					details: [
						{
							"@type": "type.googleapis.com/google.rpc.ErrorInfo",
							reason: "TASK_NOT_FOUND",
							domain: "a2a-protocol.org",
							metadata: { taskId: "t" },
						},
					],
				},
			},
		});
	});

	it("tells by the status when the body says nothing", () => {
		for (const [status, name] of [
			[401, "UnauthorizedError"],
			[404, "TaskNotFoundError"],
			[429, "RateLimitedError"],
			[500, "InternalError"],
			[502, "InternalError"],
		] as const)
			for (const body of [undefined, "<html>", null, {}, { error: "x" }, { error: { details: "x" } }])
				assert.equal(readRestError(status, body).name, name);
		assert.equal(readRestError(400, { error: { details: [null, { reason: "toString" }] } }).name, "InvalidParamsError");
	});
});
