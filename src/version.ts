/** Version of this extension, as in package.json (a test keeps them equal). */
export const VERSION = "0.8.0";
