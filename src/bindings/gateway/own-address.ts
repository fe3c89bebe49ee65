/** The address by which another machine can call us. */
import { createSocket } from "node:dgram";
import { isIP } from "node:net";

/**
 * The local IP address from which this machine would talk to the host of `target`; `undefined` when there is no way to
 * it. Nothing is sent: a datagram socket that is "connected" has only looked up its route. Aborting `signal` gives up.
 */
export function addressTowards(target: URL, signal: AbortSignal): Promise<string | undefined> {
	const host = target.hostname.replace(/^\[|\]$/g, "");
	const port = Number(target.port) || (target.protocol === "https:" ? 443 : 80);
	return new Promise((resolve) => {
		const socket = createSocket(isIP(host) === 6 ? "udp6" : "udp4");
		const done = (address: string | undefined) => {
			signal.removeEventListener("abort", abandon);
			socket.removeAllListeners("connect").removeAllListeners("error");
			// A late error of a closed socket concerns nobody.
			socket.on("error", () => undefined);
			socket.close();
			resolve(address);
		};
		const abandon = () => done(undefined);
		signal.addEventListener("abort", abandon, { once: true });
		socket.once("error", abandon);
		socket.once("connect", () => done(socket.address().address));
		socket.unref();
		if (signal.aborted) abandon();
		else socket.connect(port, host);
	});
}
