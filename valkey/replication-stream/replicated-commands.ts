/**
 * Checks that archived commands are commands that a primary sends to its replicas. Servers that load an append-only file
 * execute any command in it, without asking for rights, and everyone who can write to a bucket can write such a file.
 */
import { Failure } from "../../lib/errors";
import { CommandParser } from "./command-parser";

/** Write commands of Valkey 9.1, besides MIGRATE, which connects to a different server and is sent to replicas as DEL. */
const WRITES =
  "APPEND BITFIELD BITOP BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN COPY DECR DECRBY DEL DELIFEQ " +
  "EXPIRE EXPIREAT FLUSHALL FLUSHDB GEOADD GEORADIUS GEORADIUSBYMEMBER GEOSEARCHSTORE GETDEL GETEX GETSET HDEL HEXPIRE " +
  "HEXPIREAT HGETDEL HGETEX HINCRBY HINCRBYFLOAT HMSET HPERSIST HPEXPIRE HPEXPIREAT HSET HSETEX HSETNX INCR INCRBY " +
  "INCRBYFLOAT LINSERT LMOVE LMPOP LPOP LPUSH LPUSHX LREM LSET LTRIM MOVE MSET MSETEX MSETNX PERSIST PEXPIRE PEXPIREAT " +
  "PFADD PFDEBUG PFMERGE PSETEX RENAME RENAMENX RESTORE RESTORE-ASKING RPOP RPOPLPUSH RPUSH RPUSHX SADD SDIFFSTORE SET " +
  "SETBIT SETEX SETNX SETRANGE SINTERSTORE SMOVE SORT SPOP SREM SUNIONSTORE SWAPDB UNLINK XACK XADD XAUTOCLAIM XCLAIM " +
  "XDEL XREADGROUP XSETID XTRIM ZADD ZDIFFSTORE ZINCRBY ZINTERSTORE ZMPOP ZPOPMAX ZPOPMIN ZRANGESTORE ZREM " +
  "ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE ZUNIONSTORE";
/** Other commands that a primary sends: it selects databases, begins transactions, and passes messages on. */
const OTHERS = "EXEC MULTI PFCOUNT PING PUBLISH SELECT SPUBLISH";

/** Names of the commands that a primary sends with any arguments. */
export const REPLICATED: ReadonlySet<string> = new Set(`${WRITES} ${OTHERS}`.split(" "));
/** The subcommands that a primary sends, by command. */
export const REPLICATED_SUBCOMMANDS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["CLUSTER", new Set(["FLUSHSLOT", "SYNCSLOTS"])],
  ["FUNCTION", new Set(["DELETE", "FLUSH", "LOAD", "RESTORE"])],
  ["REPLCONF", new Set(["GETACK"])],
  ["XGROUP", new Set(["CREATE", "CREATECONSUMER", "DELCONSUMER", "DESTROY", "SETID"])],
]);
/** Number of characters of a name that a message has. */
const NAME_CHARACTERS = 40;

export class ReplicatedCommands {
  readonly #parser = new CommandParser();

  /**
   * Checks the next bytes of archived commands.
   * @throws Failure that names the command, if no primary sends it; StreamCorrupt for anything but commands
   */
  push(bytes: Buffer): void {
    for (const { name, words } of this.#parser.push(bytes)) {
      if (REPLICATED.has(name)) continue;
      const subcommand = words[1]?.toString("latin1").toUpperCase() ?? "";
      if (REPLICATED_SUBCOMMANDS.get(name)?.has(subcommand) === true) continue;
      const full = printable(`${name} ${subcommand}`.trim());
      throw new Failure(
        `the archived commands contain ${full}, which servers do not send to their replicas; somebody else wrote it, or ` +
          "a server that is newer than this program; nothing of the set is loaded",
      );
    }
  }

  /** @throws Failure if the bytes so far end in the middle of a command */
  finish(): void {
    if (this.#parser.waiting > 0) throw new Failure("the archived commands end in the middle of a command");
  }
}

const printable = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, NAME_CHARACTERS);
