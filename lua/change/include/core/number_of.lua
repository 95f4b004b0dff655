-- number_of(own, name): the same, as a number; 0 if it is not stored.
-- EARLY
local function number_of(own, name)
  return tonumber(text_of(own, name)) or 0
end
