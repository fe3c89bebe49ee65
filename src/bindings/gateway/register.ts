/** One heartbeat: which request is sent with which credential, and what follows from a refusal. No state of its own. */
import { type GatewayApi, GatewayError, type Registered, type Registration } from "./api.ts";

/** Who we are at a gateway. */
export interface Identity {
	readonly name: string;
	/** Our own credential there, once it is known. */
	readonly token: string | undefined;
}

export interface Beat {
	readonly api: Pick<GatewayApi, "register">;
	/** The gateway's own token, which every agent of the fleet has. */
	readonly shared: string | undefined;
	readonly what: Omit<Registration, "name">;
	readonly signal: AbortSignal;
}

export interface Joined extends Identity {
	readonly admission: Registered["admission"];
}

const statusOf = (error: unknown): number | undefined => (error instanceof GatewayError ? error.status : undefined);

/**
 * Registers as `who`. The caller token renews by PATCH; the shared token, by POST, is for a name without one, for
 * gateways that know no PATCH (405), and for a token that is no longer any good (401; 404: the gateway has forgotten
 * the peer; 409: the token is another peer's). Throws `GatewayError`; 409: the name is somebody else's.
 */
export async function register(beat: Beat, who: Identity): Promise<Joined> {
	const { token } = who;
	if (token === undefined) return post(beat, { name: who.name, token: undefined }, beat.shared);
	try {
		return await send(beat, who, "PATCH", token);
	} catch (error) {
		const status = statusOf(error);
		if (status === 405) return renewByPost(beat, who, token);
		if (status !== 401 && status !== 404 && status !== 409) throw error;
		return post(beat, { name: who.name, token: undefined }, beat.shared);
	}
}

/** A gateway of before PATCH takes the shared token, or, if it has minted a caller token, only that. */
async function renewByPost(beat: Beat, who: Identity, token: string): Promise<Joined> {
	try {
		return await post(beat, who, beat.shared);
	} catch (error) {
		if (statusOf(error) !== 409) throw error;
		return post(beat, who, token);
	}
}

const post = (beat: Beat, who: Identity, token: string | undefined): Promise<Joined> => send(beat, who, "POST", token);

async function send(beat: Beat, who: Identity, method: "POST" | "PATCH", token: string | undefined): Promise<Joined> {
	const { admission, callerToken } = await beat.api.register(
		method,
		token,
		{ name: who.name, ...beat.what },
		beat.signal,
	);
	return { name: who.name, token: callerToken ?? who.token, admission };
}
