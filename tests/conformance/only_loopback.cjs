// Loaded before the suite, whose mock servers name no address to listen on and would be reachable
// from other machines. Whoever wants all addresses gets the loopback one.
//
// This is where every form of `listen` ends up. An address given any earlier would be looked up
// first, and servers that ask for their port at once would not have one yet.
"use strict";

const { Server } = require("node:net");

const ALL = new Set([null, undefined, "", "0.0.0.0", "::"]);
const begin = Server.prototype._listen2;

Server.prototype._listen2 = function (address, port, family, ...rest) {
  const isPort = typeof port === "number" && port >= 0;
  return isPort && ALL.has(address)
    ? begin.call(this, "127.0.0.1", port, 4, ...rest)
    : begin.call(this, address, port, family, ...rest);
};
