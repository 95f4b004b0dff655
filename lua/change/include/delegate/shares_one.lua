-- shares_one(wanted, given): whether two lists of words have one in common, or nothing is wanted.
local function shares_one(wanted, given)
  if wanted == '' then return true end
  if #given < #wanted then wanted, given = given, wanted end  -- the shorter one is gone through
  for word in string.gmatch(wanted, '[^,]+') do  -- at most 32: resources
    if string.find(',' .. given .. ',', ',' .. word .. ',', 1, true) then return true end
  end
  return false
end
