"use strict";
(() => {
  const tip = document.getElementById("tip");
  const show = (text, event) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, innerWidth - box.width - 6);
    const above = event.clientY - box.height - 12;
    tip.style.left = Math.max(6, left) + "px";
    tip.style.top = (above < 6 ? event.clientY + 16 : above) + "px";
  };
  const hide = () => {
    tip.hidden = true;
    document.querySelectorAll(".cross").forEach((line) => line.remove());
  };

  // The values under the pointer: of the nearest point of each curve, or of the mark itself.
  const values = (chart, event) => {
    const data = JSON.parse(chart.dataset.lines);
    const box = chart.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
    if (at < data.left - 8 || at > data.right + 8) return hide();
    let place = 0, name = "";
    const lines = data.curves.map((curve) => {
      const near = curve.at.reduce((best, x, i) => (Math.abs(x - at) < Math.abs(curve.at[best] - at) ? i : best), 0);
      place = curve.at[near];
      name = curve.x[near];
      return curve.name + ": " + curve.y[near];
    });
    let line = chart.querySelector(".cross");
    if (!line) {
      line = document.createElementNS("http://www.w3.org/2000/svg", "path");
      line.setAttribute("class", "cross");
      chart.append(line);
    }
    line.setAttribute("d", `M${place} ${data.top}V${data.bottom}`);
    show(`${data.x} ${name}\n${lines.join("\n")}`, event);
  };
  document.addEventListener("pointermove", (event) => {
    const mark = event.target.closest("[data-tip]");
    const chart = event.target.closest("[data-lines]");
    if (mark) show(mark.dataset.tip, event);
    else if (chart) values(chart, event);
    else if (!tip.hidden) hide();
  });
  document.addEventListener("pointerleave", hide);
  addEventListener("scroll", hide, { passive: true });

  // One class at a time, in the gallery and in the plane.
  const filter = document.querySelector(".filter");
  if (filter) {
    filter.hidden = false;
    filter.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const wanted = button.dataset.filter;
      filter.querySelectorAll("button").forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
      document.querySelectorAll(".group").forEach((one) => {
        one.hidden = wanted !== "all" && one.dataset.class !== wanted;
        const more = one.querySelector("details");
        if (more) more.open = one.dataset.class === wanted;
      });
      document.querySelectorAll(".point").forEach((one) => {
        one.style.opacity = wanted !== "all" && one.dataset.class !== wanted ? 0.06 : "";
      });
    });
  }

  // Any figure, large.
  const large = document.getElementById("large");
  const held = document.getElementById("held");
  document.querySelectorAll("figure").forEach((figure) => {
    const open = () => {
      held.replaceChildren(figure.cloneNode(true));
      if (figure.closest(".shaded")) held.firstChild.classList.add("shaded");
      large.showModal();
    };
    if (figure.matches(".tile")) {
      figure.style.cursor = "zoom-in";
      figure.addEventListener("click", open);
      return;
    }
    const button = document.createElement("button");
    button.type = "button";
    button.className = "enlarge";
    button.textContent = "enlarge";
    button.setAttribute("aria-label", "Enlarge: " + (figure.querySelector("h3")?.textContent || "figure"));
    button.addEventListener("click", open);
    figure.append(button);
  });
  document.getElementById("close").addEventListener("click", () => large.close());
  large.addEventListener("click", (event) => event.target === large && large.close());
})();
