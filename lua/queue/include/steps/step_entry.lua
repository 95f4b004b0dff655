-- step_entry(step): the entry of `steps:<id>` for a step with the parts that step_parts reads.
local function step_entry(step)
  return string.format('%d %s %.0f %.0f\n', step.place, step.kind, step.at_ms, step.fence) .. step.value
end
