-- step_name(name, number): the name of a step among those of its task: that of the second step `edit` is `edit#2`.
local function step_name(name, number)
  return number == 1 and name or name .. '#' .. number
end
