/**
 * The guard of a question against clicks and keys that were meant for something else.
 *
 * A question may appear, move or change under a finger or a pointer at any moment: the agent
 * decides when it asks and when it takes a question back. So a question that has become visible,
 * has moved or has changed takes no answer for a while. If a pointer rests on its buttons already,
 * the buttons stay closed until the pointer has left them. A press that began while they were
 * closed does not count, and neither does a key that is held down.
 */

const TOO_EARLY = 500;
const CLICK_DELAY = 400; // a browser that waits for a second tap clicks so much later

let pointer = null; // where the mouse is; a finger that is not on the screen is nowhere

function follow(event) {
  pointer = event.pointerType === "touch" ? null : { x: event.clientX, y: event.clientY };
}

for (const kind of ["pointermove", "pointerdown", "pointerup"])
  addEventListener(kind, follow, { capture: true, passive: true });
document.addEventListener("pointerleave", () => {
  pointer = null;
});

export class Guard {
  /** Guard a card that is on the page. `early` is its class while it takes no answer. */
  constructor(card) {
    this.card = card;
    this.timer = null;
    this.place = "";
    this.isUnder = false; // a pointer was on the buttons when the guard started, and still is
    this.isPressedEarly = false;
    this.releasing = null;
    this.ending = new AbortController();
    const { signal } = this.ending;
    const quiet = { capture: true, passive: true, signal };
    this.observer = new ResizeObserver(() => this.look());
    // Whatever is above or below it may push it elsewhere.
    const room = document.getElementById("room");
    for (const element of [card, ...room.children]) this.observer.observe(element);
    addEventListener("scroll", () => this.look(), quiet);
    addEventListener("resize", () => this.look(), quiet);
    addEventListener("focus", () => this.start(), { signal });
    document.addEventListener("visibilitychange", () => this.start(), { signal });
    addEventListener("pointermove", () => this.moved(), quiet);
    addEventListener("pointerdown", () => this.press(), quiet);
    addEventListener("keydown", (event) => event.repeat || this.press(), quiet);
    // The click comes after these, and counts as part of the press.
    for (const kind of ["pointerup", "pointercancel", "keyup"])
      addEventListener(kind, () => this.release(), quiet);
    this.look();
    this.start();
  }

  get isOpen() {
    return !this.card.classList.contains("early") && !this.isPressedEarly;
  }

  /** Take no answer from now on, for a while. */
  start() {
    clearTimeout(this.timer);
    this.card.classList.add("early");
    this.card.classList.remove("covered");
    this.isUnder = this.isCovered();
    this.timer = setTimeout(() => this.open(), TOO_EARLY);
  }

  open() {
    this.timer = null;
    if (this.isUnder) this.card.classList.add("covered");
    else this.card.classList.remove("early", "covered");
  }

  /** Start again if the buttons are not where they were. */
  look() {
    const place = this.boxes().map(({ x, y }) => `${Math.round(x)},${Math.round(y)}`).join(" ");
    if (place === this.place) return;
    this.place = place;
    this.start();
  }

  moved() {
    if (!this.isUnder || this.isCovered()) return;
    this.isUnder = false;
    if (this.timer === null) this.open();
  }

  press() {
    clearTimeout(this.releasing); // of an earlier press
    this.look(); // it may have moved since the last frame
    this.isPressedEarly = this.card.classList.contains("early");
  }

  release() {
    clearTimeout(this.releasing);
    this.releasing = setTimeout(() => (this.isPressedEarly = false), CLICK_DELAY);
  }

  boxes() {
    const buttons = this.card.querySelectorAll(".buttons button, .buttons a");
    return [...buttons].map((button) => button.getBoundingClientRect());
  }

  /** Return whether the pointer is on a button. */
  isCovered() {
    if (pointer === null) return false;
    const { x, y } = pointer;
    return this.boxes().some(
      (box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom,
    );
  }

  end() {
    clearTimeout(this.timer);
    clearTimeout(this.releasing);
    this.observer.disconnect();
    this.ending.abort();
  }
}
