// The table and the interfaces of a module say the same, as far as types can say it.
import type { Types, TYPES } from "./MODULE.js";

type Table = typeof TYPES;

interface Kinds {
  any: unknown;
  string: string;
  boolean: boolean;
  integer: number;
  number: number;
  null: null;
}

type Of<Shape> = Shape extends keyof Kinds
  ? Kinds[Shape]
  : Shape extends { ref: infer Name extends keyof Types }
    ? Types[Name]
    : Shape extends { constants: readonly (infer Constant)[] }
      ? Constant
      : Shape extends { items: infer Item }
        ? Of<Item>[]
        : Shape extends { values: infer Value }
          ? { [member: string]: Of<Value> }
          : Shape extends { arms: infer Arms }
            ? Types[Arms[keyof Arms] & keyof Types]
            : Shape extends { anyOf: readonly (infer Arm)[] }
              ? Of<Arm>
              : Shape extends { of: infer Inner }
                ? Of<Inner>
                : Shape extends { members: infer Members; required: readonly (infer Required)[] }
                  ? Object<Members, Required>
                  : never;

type Object<Members, Required> = {
  -readonly [Name in keyof Members as Name extends Required ? Name : never]: Of<Members[Name]>;
} & {
  -readonly [Name in keyof Members as Name extends Required ? never : Name]?: Of<Members[Name]>;
};

type Declared<Type> = Type extends unknown[] | string | number | boolean | null
  ? Type
  : { [Name in keyof Type as string extends Name ? never : Name]: Type[Name] };

type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;

type Json = string | number | boolean | null | { [member: string]: Json } | Json[];

type Agrees<Name extends keyof Types> = Table[Name] extends "any"
  ? Same<Types[Name], unknown> extends true
    ? true
    : Same<Types[Name], Json>
  : Table[Name] extends { members: infer Members }
  ? Same<[Declared<Types[Name]>, keyof Declared<Types[Name]>], [Of<Table[Name]>, keyof Members]>
  : Same<Types[Name], Of<Table[Name]>>;

type Wrong = { [Name in keyof Types]: Agrees<Name> extends true ? never : Name }[keyof Types];

export const none = (wrong: Wrong): never => wrong;
