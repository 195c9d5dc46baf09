/**
 * A form of an agent, with a field for each property of its schema.
 */

import { h } from "./dom.js";
import { cut, objects, shortLine, textOrNull } from "./text.js";

const MAX_FIELDS = 50;
const MAX_CHOICES = 200;
const MAX_LABEL = 300;

let lastField = 0;

/** Return the fields of a schema and a function that reads them; `isWhole`: all can be shown. */
export function drawForm(schema) {
  const required = new Set(Array.isArray(schema?.required) ? schema.required : []);
  const properties = isObject(schema?.properties) ? schema.properties : {};
  const names = Object.keys(properties);
  const fields = names.slice(0, MAX_FIELDS).map((name) => ({
    name,
    ...field(name, isObject(properties[name]) ? properties[name] : {}, required.has(name)),
  }));
  const left = names.slice(MAX_FIELDS);
  const note = `${left.length} more fields cannot be shown here`;
  return {
    elements: [
      fields.map((each) => each.element),
      left.length > 0 && h("p", { class: "warning" }, note),
    ],
    isWhole:
      fields.every((each) => each.read !== undefined || !required.has(each.name)) &&
      !left.some((name) => required.has(name)),
    read() {
      const values = fields.map(({ name, read }) => [name, read?.()]);
      return Object.fromEntries(values.filter(([, value]) => value !== undefined));
    },
  };
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function field(name, property, isRequired) {
  lastField += 1;
  const id = `field-${lastField}`;
  const described = property.description ? `${id}-d` : null;
  const common = { id, required: isRequired, "aria-describedby": described };
  const made = MAKERS.get(property.type)?.(property, common, isRequired);
  const label = shortLine(property.title || name, MAX_LABEL) + (isRequired ? " *" : "");
  const words = described && cut(property.description, MAX_LABEL)[0];
  const hint = described && h("small", { id: described, class: "faint" }, words);
  if (made === undefined)
    return { element: h("p", { class: "warning" }, `${label}: this field cannot be shown here`) };
  if (made.isGroup)
    return { ...made, element: h("fieldset", {}, h("legend", {}, label), made.element, hint) };
  const caption = h("label", { for: id }, label);
  const parts = made.isInline ? [made.element, caption] : [caption, made.element];
  const kind = made.isInline ? "field inline" : "field";
  return { ...made, element: h("div", { class: kind }, parts, hint) };
}

const MAKERS = new Map(Object.entries({ string, number, integer: number, boolean, array }));
const TYPES = { email: "email", uri: "url", date: "date" };

/** Return the choices of a property; undefined if it is free, null if there are too many. */
function choices(property) {
  const given = Array.isArray(property.oneOf) ? property.oneOf : property.enum;
  if (!Array.isArray(given)) return undefined;
  if (given.length > MAX_CHOICES) return null;
  if (given === property.oneOf)
    return objects(given).map((each) => ({ value: each.const, name: each.title || each.const }));
  return given.map((value) => ({ value, name: value }));
}

function string(property, common, isRequired) {
  const offered = choices(property);
  if (offered === null) return undefined;
  if (offered !== undefined) return select(offered, property.default, common, isRequired);
  const element = h("input", {
    ...common,
    type: TYPES[textOrNull(property.format)] ?? "text",
    minlength: property.minLength,
    maxlength: property.maxLength,
    placeholder: property.format === "date-time" ? "2026-01-31T12:00:00Z" : null,
    autocomplete: "off",
    value: property.default ?? "",
  });
  return { element, read: () => (element.value === "" && !isRequired ? undefined : element.value) };
}

function select(offered, chosen, common, isRequired) {
  const isChosen = chosen !== undefined && chosen !== null;
  const skipped = isRequired && isChosen ? 0 : 1;
  const items = offered.map(({ name }) => h("option", {}, shortLine(name, MAX_LABEL)));
  const element = h("select", common, skipped > 0 && h("option", {}, "\u2014"), items);
  const index = offered.findIndex(({ value }) => value === chosen);
  element.selectedIndex = index < 0 ? 0 : index + skipped;
  const check = () =>
    element.setCustomValidity(
      isRequired && element.selectedIndex < skipped ? "Choose one" : "",
    );
  element.addEventListener("change", check);
  check();
  return { element, read: () => offered[element.selectedIndex - skipped]?.value };
}

function number(property, common) {
  const element = h("input", {
    ...common,
    type: "number",
    min: property.minimum,
    max: property.maximum,
    step: property.type === "integer" ? "1" : "any",
    inputmode: property.type === "integer" ? "numeric" : "decimal",
    value: property.default ?? "",
  });
  return { element, read: () => (element.value === "" ? undefined : Number(element.value)) };
}

function boolean(property, common) {
  const checked = property.default === true;
  const element = h("input", { ...common, required: null, type: "checkbox", checked });
  return { element, isInline: true, read: () => element.checked };
}

function array(property, common) {
  const { items } = property;
  const offered = choices({ oneOf: items?.anyOf, enum: items?.enum });
  if (offered === undefined || offered === null) return undefined;
  const chosen = new Set(Array.isArray(property.default) ? property.default : []);
  const boxes = offered.map(({ value, name }, index) => {
    const id = `${common.id}-${index}`;
    const box = h("input", { id, type: "checkbox", checked: chosen.has(value) });
    const words = h("label", { for: id }, shortLine(name, MAX_LABEL));
    return { box, value, element: h("div", { class: "field inline" }, box, words) };
  });
  return {
    element: boxes.map((each) => each.element),
    isGroup: true,
    read: () => boxes.filter(({ box }) => box.checked).map(({ value }) => value),
  };
}
