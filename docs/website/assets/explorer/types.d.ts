/** The data that Python writes. */

export type Role = "client" | "server";

export interface Sourced {
  source: string;
  url?: string;
}

export interface Condition {
  member: string;
  oneOf: (string | boolean | number)[] | null;
  orAbsent: boolean;
}

export interface Gate extends Sourced {
  role: Role;
  path: string[];
  level: string;
  sender: Role;
  when: Condition[];
}

export interface MethodError {
  code: number;
  when: string;
  level: string;
}

export interface Method extends Sourced {
  name: string;
  kind: "request" | "notification" | "embedded";
  senders: Role[];
  message: string;
  params: string;
  paramsRequired: boolean;
  results: string[];
  gates: Gate[];
  phase: "any" | "before_ready" | "ready";
  traits: string[];
  errors: MethodError[];
  since: string;
  removed: string | null;
  deprecated: string | null;
  doc: string;
}

export interface Capability extends Sourced {
  role: Role;
  path: string[];
  flag: boolean;
  implied: boolean;
  doc: string;
}

export interface ErrorCode extends Sourced {
  code: number;
  name: string;
  data: string | null;
  emit: "client" | "server" | "both" | "never";
  status: number | null;
  doc: string;
}

export interface Header extends Sourced {
  name: string;
  direction: "request" | "response";
  level: string;
  when: string;
}

export interface MetaKey extends Sourced {
  key: string;
  on: string[];
  of: string[];
  type: string;
  required: boolean;
}

export type Expression =
  | { ref: string }
  | { scalar: string }
  | { constants: Json[] }
  | { list: Expression }
  | { map: Expression }
  | { any: Expression[] };

export interface Member {
  name: string;
  type: Expression;
  doc: string;
  required?: true;
  nullable?: true;
  deprecated?: true;
  constraints?: Record<string, Json>;
  known?: string[];
}

export interface ProtocolType {
  name: string;
  kind: "object" | "union" | "constants" | "alias";
  doc: string;
  deprecated?: true;
  members?: Member[];
  open?: true;
  oneRequired?: string[];
  arms?: Expression[];
  tag?: string;
  is?: Expression;
}

export interface Probe {
  type: string;
  value: Json;
  published: boolean;
}

export interface Finding extends Sourced {
  of: string;
  pointer: string;
  type: string;
  reason: string;
  was?: Json;
  now?: Json;
  probe?: Probe;
}

export type Json = null | boolean | number | string | Json[] | JsonObject;

export interface JsonObject {
  [name: string]: Json;
}

/** A JSON Schema; modules read it by keyword. */
export interface Schema {
  [keyword: string]: any;
}

export type Definitions = Record<string, Schema>;

export interface Rule extends Sourced {
  value?: Json;
  receive?: boolean;
  send?: boolean;
  values?: string[];
}

export interface Leniency extends Sourced {
  where: string;
  rule: "absent_reads_as" | "negative_reads_as";
  value: Json;
}

/** The published file of a revision. */
export interface Pin {
  date: string;
  sha256: string;
  publications: number;
  url: string;
}

export interface Revision {
  id: string;
  rules: Record<string, Rule>;
  leniency: Leniency[];
  methods: Method[];
  capabilities: Capability[];
  errors: ErrorCode[];
  headers: Header[];
  metaKeys: MetaKey[];
  types: ProtocolType[];
  findings: Finding[];
  schemas: {
    mended: Definitions;
    published: Definitions;
    envelopes: Partial<Record<"request" | "notification" | "result" | "error", string>>;
    anySchema: string[];
  };
}

export interface Extension extends Sourced {
  name: string;
  revision: string;
  identifier: string;
  methods: Method[];
  claims: { method: string; results: string[] }[];
  capabilities: Capability[];
  types: ProtocolType[];
  findings: Finding[];
  schemas: { mended: Definitions; published: Definitions };
}

export interface Change {
  code: string;
  category: string;
  item: string;
  message: string;
  severity: string;
  pointer?: string;
  before?: string;
  after?: string;
  feature?: string;
}

export interface Comparison {
  before: string;
  after: string;
  came: string[];
  went: string[];
  changes: Change[];
  why: Record<string, string>;
}

export type Kind = "methods" | "types" | "capabilities" | "errors" | "headers" | "metaKeys";

/** A row of the lists, with a mark for each revision. */
export interface Item {
  name: string;
  marks: string;
  extensions?: string[];
  title?: string;
  kind?: string;
  senders?: Role[];
  doc?: string;
}

export interface Index {
  revisions: {
    id: string;
    era: string;
    pin: Pin;
    rules: Record<string, Rule>;
    findings: number;
  }[];
  readers: string[];
  items: Record<Kind, Item[]>;
  extensions: { name: string; revision: string; identifier: string }[];
  pairs: [string, string][];
  findings: Record<string, number>;
}

/** A place in a text; both numbers count from 1. */
export interface Place {
  line: number;
  column: number;
}

/** A fault: `rule` is a JSON Pointer into the schema, or empty for rules outside of schemas. */
export interface Fault {
  pointer: string;
  message: string;
  rule: string;
  type: string;
}

export interface Subject {
  kind: "request" | "notification" | "result" | "error" | "type";
  method?: string;
  type?: string;
  sender?: Role;
}

export interface NeededGate extends Gate {
  applies: boolean;
}

export interface Verdict {
  revision: string;
  extension: string;
  status: "accepted" | "refused" | "unknown";
  subject: Subject | null;
  senders: Role[];
  faults: Fault[];
  unknown: { pointer: string; type: string }[];
  gates: NeededGate[];
  notes: { text: string; url?: string }[];
  /** The verdict of the published schema, if it differs. */
  published: { accepted: boolean; faults: Fault[]; findings: Finding[] } | null;
}

export interface Asked {
  sender: Role | "";
  method: string;
}

export interface Judge {
  read(text: string): { value: Json; places: Map<string, Place>; notes: string[] };
  judge(value: Json, revision: Revision, extensions: Extension[], asked: Asked): Verdict;
  accepts(subject: Subject, value: Json, revision: Revision, extension?: Extension): boolean;
}

declare global {
  /** Called by the scripts of data and of the judge, which are loaded on demand. */
  var mcpExplorer: {
    receive(name: string, text: string): void;
    judge?: Judge;
  };
}
